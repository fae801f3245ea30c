package offline

// stopWords are words of prose that say nothing about the place of a defect: the frequent words of English and those of
// almost every task, with blanks between them. Words shorter than minPlain are never asked for.
const stopWords = `
able about above accept acceptance accepted actually added adding adds after again against allow allowed allows
almost already also always among another anything around asked avoid away back because become been before behave
behaves behavior behaviour being below best better between both bring brings broken bugs call called calls came
cannot case cases cause caused causes change changed changes check come comes complete completely correct correctly
could create created creates criteria current currently defect description different does doesn doing done down drop
drops during each early easy edge either else empty ends enough error errors even ever every everything exactly
example except expect expected expects extra fail failed failing fails false feature file files find finds first
fixed fixes follow following follows forget forgets former found from full fully gave gets getting give given gives
goes going good great handle handled handles happen happens have having help hence here high however implement
implemented implements important improve improved include included includes inside instead into introduce issue
issues itself just keep keeps kind know known large last late later lead leads least leave leaves less lets like
likely line lines little long longer look looks lose loses lost make makes making many maybe mean means might
missing more most move moved much must need needed needs never next nice none nothing number numbers often once ones
only onto open other others otherwise output over part parts people place please point possible prevent previous
problem produce produces project properly provide quite rather read really refactor remove removed removes replace
replaced report reports result results return returned returns right running runs said same says seem seems seen
sends several shall should show shown shows side simple since single small some someone something sometimes soon
start started starts still stop stops such support supported supports sure take taken takes task tell than that
their them then there these they thing things this those three through time times together told towards tries true
trying turn turned turns twice under unless until update updated updates upon used useful user users uses using
usually value values various verification verify version very want wants ways well were what when whenever where
whether which while whole whose will with within without word words work works worse would write writes written
wrong wrongly your zero
`
