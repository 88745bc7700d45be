import { childFailpoints, failpoints } from '../../src/base/failpoint.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { foreignActions, type Plan } from './plan.ts'
import { scenarios as plainScenarios } from './scenarios/all-scenarios.ts'
import { childScenarios } from './scenarios/child-scenarios.ts'

const everywhere = [...failpoints, ...childFailpoints]
const scenarios = [...plainScenarios, ...childScenarios]

/** Several things at once. Not all of them need to come about: a crash may be planned for a passing that there is not. */
export function randomPlan(random: SeededRandom): Plan {
  const several = <T>(most: number, make: () => T): T[] => Array.from({ length: random.int(0, most) }, make)
  const isAlone = random.chance(0.7)
  return {
    scenarios: isAlone ? [random.pick(scenarios)] : pickSome(random),
    crashes: several(3, () => ({ failpoint: random.pick(everywhere), nth: random.int(1, isAlone ? 4 : 12) })),
    foreign: random.chance(0.5)
      ? several(3, () => ({ action: random.pick(foreignActions), step: random.int(1, isAlone ? 25 : 90) }))
      : [],
    stall: random.chance(0.3) ? { step: random.int(1, isAlone ? 15 : 60), steps: random.int(1, 30) } : null,
    failures: random.chance(0.4)
      ? several(3, () => ({ write: random.int(1, isAlone ? 12 : 50), isMade: random.chance(0.5) }))
      : [],
    lostLeases: random.chance(0.3) ? several(2, () => random.int(1, isAlone ? 4 : 16)) : [],
    workers: random.int(1, 3),
  }
}

function pickSome(random: SeededRandom): Plan['scenarios'] {
  const chosen = scenarios.filter(() => random.chance(0.3))
  return chosen.length > 0 ? chosen : scenarios
}
