export { PerdureSaver, type PerdureSaverOptions } from './perdure-saver.ts'
