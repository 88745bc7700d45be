// What is spent on a schema at most, in steps and levels. All nodes of a fleet must have the same, or one refuses what another takes.

/** To read a schema from outside, once. */
export const maxSchemaSteps = 200_000
/** To check one value. */
export const maxValueSteps = 1_000_000
/** To tell what is wrong with a value that is known not to fit; after that, what was found is told. */
export const maxIssueSteps = 100_000
/** Of a value, and of schemas that refer to each other, within each other: each takes a piece of the stack. */
export const maxLevels = 500
