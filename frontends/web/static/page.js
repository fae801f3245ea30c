// What has changed comes over one stream for all tabs of a browser: the tab that holds the lock
// listens and tells the others. Each tab that can be seen then asks the server for the parts of its
// page that have changed. Without this script every page works the same, after a reload.
'use strict';
(() => {
  const body = document.body;
  const about = body.dataset.about;
  const project = body.dataset.project;
  let since = body.dataset.since || '0';

  // Parts of the page.

  let asking = false;
  let again = false;
  let last = 0;
  let failures = 0; // in a row
  const pause = 50; // between two requests, in milliseconds
  const patience = 60000; // with one request, in milliseconds: the server gives up then too

  // refresh asks for what has changed. The stream tells of a change once, so a request that failed
  // is made again, after one second, two, four and so on.
  async function refresh() {
    if (asking) { again = true; return; }
    asking = true;
    do {
      again = false;
      const wait = last + pause - performance.now();
      if (wait > 0) await new Promise(done => setTimeout(done, wait));
      last = performance.now();
      if (await ask()) {
        failures = 0;
      } else {
        failures++;
        setTimeout(retry, Math.min(1000 * 2 ** (failures - 1), 30000));
      }
    } while (again && !document.hidden);
    asking = false;
  }

  // ask makes one request. It is false if the next one may have more luck: a page that shows what is
  // wrong with its own address, such as a broken filter, gets that answer every time.
  async function ask() {
    try {
      const answer = await fetch(location.pathname + location.search, {
        headers: {'Tercet-Since': since}, cache: 'no-store', redirect: 'manual',
        signal: AbortSignal.timeout(patience),
      });
      const html = await answer.text();
      if (failures > 0) offline(false);
      if (answer.ok) {
        since = answer.headers.get('Tercet-Since') || since;
        patch(html);
      }
      return answer.status < 500;
    } catch {
      offline(true);
      return false;
    }
  }

  function retry() {
    if (failures > 0 && !document.hidden) refresh();
  }

  // patch replaces the elements that the server sent. A form in which somebody writes stays.
  function patch(html) {
    const box = document.createElement('template');
    box.innerHTML = html;
    for (const part of [...box.content.children]) {
      const old = document.getElementById(part.id);
      if (!old) {
        insert(part);
        continue;
      }
      if (old.isEqualNode(part) || writes(old)) continue;
      keep(old, part);
      const at = old.scrollTop;
      const focus = old.contains(document.activeElement) ? document.activeElement : null;
      const href = focus && focus.getAttribute('href');
      const id = focus && focus.id;
      old.replaceWith(part);
      part.scrollTop = at;
      if (focus) {
        const found = id ? document.getElementById(id)
          : href && [...part.querySelectorAll('a')].find(a => a.getAttribute('href') === href);
        if (found) found.focus({preventScroll: true});
      }
    }
    tick();
  }

  function insert(part) {
    const list = document.getElementById(part.dataset.in);
    if (!list) return;
    const after = part.dataset.after && document.getElementById(part.dataset.after);
    if (after) after.after(part); else list.prepend(part);
  }

  // keep takes over what the reader opened.
  function keep(old, part) {
    for (const one of old.querySelectorAll('details[id]')) {
      const now = part.querySelector('#' + CSS.escape(one.id));
      if (now) now.open = one.open;
    }
  }

  function writes(old) {
    const at = document.activeElement;
    if (at && at.matches('input, textarea, select') && old.contains(at)) return true;
    return [...old.querySelectorAll('textarea')].some(one => one.value !== one.defaultValue);
  }

  // Times.

  function short(ms) {
    const s = Math.max(0, ms / 1000);
    const two = n => String(Math.floor(n)).padStart(2, '0');
    if (s < 10) return s.toFixed(1) + ' s';
    if (s < 60) return Math.floor(s) + ' s';
    if (s < 3600) return Math.floor(s / 60) + ' min ' + two(s % 60) + ' s';
    if (s < 86400) return Math.floor(s / 3600) + ' h ' + two(s / 60 % 60) + ' min';
    return Math.floor(s / 86400) + ' d ' + Math.floor(s / 3600 % 24) + ' h';
  }

  function ago(ms) {
    const s = Math.max(0, ms / 1000);
    if (s < 60) return Math.floor(s) + 's ago';
    if (s < 3600) return Math.floor(s / 60) + 'm ago';
    if (s < 48 * 3600) return Math.floor(s / 3600) + 'h ago';
    return Math.floor(s / 86400) + 'd ago';
  }

  function set(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function tick() {
    if (document.hidden) return;
    const now = Date.now();
    for (const one of document.querySelectorAll('time.ticks')) set(one, short(now - one.dataset.from));
    for (const one of document.querySelectorAll('time[datetime]')) {
      set(one, ago(now - Date.parse(one.dateTime)));
    }
  }

  // The server follows the team only while somebody asks for it.
  const askTeam = 20000; // in milliseconds
  let clock = 0;
  let team = 0;
  function ticks(on) {
    clearInterval(clock);
    clearInterval(team);
    if (on) clock = setInterval(tick, 1000);
    if (on && about === 'team') team = setInterval(refresh, askTeam);
  }

  // The stream.

  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('tercet') : null;
  let stream = null;
  let release = null; // gives the lock back
  let waiting = null; // for the lock

  function changed(what) {
    if (document.hidden || about === 'none') return;
    const ours = !project || what.project === project;
    const kind = about.split(':')[0];
    if (kind === 'team' ? !what.team : what.team || !ours) return;
    if (kind === 'run' && !what.all && !(what.runs || []).includes(about.slice(4))) return;
    if (kind === 'tasks' && !what.all && !what.tasks) return;
    refresh();
  }

  function offline(yes) {
    document.getElementById('offline').hidden = !yes;
  }

  function listen() {
    stream = new EventSource('/live');
    const tell = (kind, data) => { if (channel) channel.postMessage({kind, data}); };
    stream.addEventListener('hello', () => { offline(false); tell('hello'); refresh(); });
    stream.addEventListener('change', e => {
      const what = JSON.parse(e.data);
      tell('change', what);
      changed(what);
    });
    stream.addEventListener('error', () => { offline(true); tell('error'); });
  }

  function hear(e) {
    if (e.data.kind === 'change') changed(e.data.data);
    if (e.data.kind === 'hello') { offline(false); refresh(); }
    if (e.data.kind === 'error') offline(true);
  }

  function open() {
    if (stream || waiting) return;
    if (!channel || !navigator.locks) { listen(); return; }
    waiting = new AbortController();
    navigator.locks.request('tercet-stream', {signal: waiting.signal}, () => {
      waiting = null;
      if (document.hidden) return undefined;
      listen();
      return new Promise(done => { release = done; });
    }).catch(() => {});
  }

  function close() {
    if (waiting) { waiting.abort(); waiting = null; }
    if (stream) { stream.close(); stream = null; }
    if (release) { release(); release = null; }
  }

  // A page that is not shown listens to nothing.
  function seen() {
    if (document.hidden) { close(); ticks(false); return; }
    open();
    ticks(true);
    tick();
    if (about !== 'none') refresh();
  }

  if (channel) channel.addEventListener('message', hear);
  document.addEventListener('visibilitychange', seen);
  addEventListener('pagehide', close);
  addEventListener('pageshow', e => { if (e.persisted) seen(); });
  if (!document.hidden) { open(); ticks(true); tick(); }

  // Keys.

  function move(by) {
    const all = [...document.querySelectorAll('[data-go]')];
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
    all[next].focus();
    all[next].scrollIntoView({block: 'nearest'});
  }

  function press(key) {
    const one = document.querySelector('[data-key="' + key + '"]');
    if (one) one.focus();
    return one;
  }

  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, textarea, select')) return;
    if (e.key === 'j') move(1);
    else if (e.key === 'k') move(-1);
    else if (e.key === 'o' && document.activeElement.matches('[data-go]')) document.activeElement.click();
    else if (e.key === 'a') {
      const one = press('a') || document.querySelector('.asking [data-go]');
      if (one) one.click();
    } else if (e.key === 'r') press('r'); // Enter then goes on: a key alone begins nothing
    else if (e.key === '?') document.getElementById('keys').showModal();
    else return;
    e.preventDefault();
  });
})();
