import { scenarios } from '../../simulator/scenarios/all-scenarios.ts'

/** All but the one that only repeats the others, so that pairs of crashes can be had in one conversation. */
export const matrixScenarios = scenarios.filter(({ name }) => name !== 'long-day')
