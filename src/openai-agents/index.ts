export { type PerdureSession, type PerdureSessionOptions, perdureSession } from './perdure-session.ts'
