import { silentLogger } from '../../base/logger.ts'
import { demoModels } from './demo-models.ts'
import { openDemo } from './open-demo.ts'

/** A process of its own that works on the store it is told, slowly, until it is killed or whoever started it is gone. */
const [storeFile = '', agentName = ''] = process.argv.slice(2)
const pace = 5
const models = await demoModels({ env: process.env, isOffline: true, pace })
await openDemo({ storeFile, agentName, models, pace, user: 'story', logger: silentLogger })
process.stdin.on('end', () => process.exit(0)).resume()
