/** A studio's server in a process of its own, so that it can be killed: `WORLD` is a module that exports `world`; `STORE` and `PORT` say where. */
import { type StudioWorld, startServer } from './studio-server.ts'

const { WORLD = '', STORE = '', PORT = '0' } = process.env
const { world } = (await import(WORLD)) as { readonly world: StudioWorld }
const server = await startServer(world, { storeFile: STORE, port: Number(PORT) })
console.log(server.url)
