export { type PrometheusCounts, prometheus } from './prometheus.ts'
export type { GaugedStore } from './telemetry.ts'
export { type Telemetry, type TelemetryOptions, telemetry } from './telemetry.ts'
