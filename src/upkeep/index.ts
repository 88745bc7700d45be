export { type Exported, type ExportOptions, exportStore } from './export-store.ts'
export type { Sink } from './export-writer.ts'
export { type Imported, type ImportOptions, importStore } from './import-store.ts'
export type { OnProgress, Progress } from './progress.ts'
