import { silentLogger } from '../../base/logger.ts'
import { demoModels } from './demo-models.ts'
import { openDemo } from './open-demo.ts'

/** A process that works slowly on the given store, until it is killed or its parent ends. */
const [storeFile = '', agentName = ''] = process.argv.slice(2)
const pace = 5
const models = await demoModels({ env: process.env, isOffline: true, pace })
await openDemo({ storeFile, agentName, models, pace, user: 'story', logger: silentLogger })
process.stdin.on('end', () => process.exit(0)).resume()
