/** What one run measured, as it is kept in `bench/results/peers.json`. Everything that is printed, drawn or written into documents comes from it. */
export type PeersResults = {
  readonly form: 'full' | 'quick'
  /** The day, as in 2026-11-19. */
  readonly day: string
  readonly minutes: number
  readonly machine: {
    readonly processor: string
    readonly processors: number
    readonly memoryGb: number
    readonly system: string
    readonly node: string
    readonly postgres: string
    /** The load average when it began and when it ended. */
    readonly load: readonly [number, number]
  }
  readonly versions: Readonly<Record<string, string>>
  /** Read back from the server. */
  readonly postgresSettings: Readonly<Record<string, string>>
  /** Lengths of a conversation, in turns. The last is also how many turns the bytes are for. */
  readonly lengths: readonly number[]
  /** How often each figure was taken, at least. */
  readonly rounds: number
  readonly subjects: readonly SubjectResult[]
}

export type SubjectResult = {
  readonly id: string
  readonly label: string
  readonly store: 'memory' | 'sqlite' | 'postgres' | 'file'
  /** Read back from the connections that it opened. */
  readonly settings: Readonly<Record<string, string | number>>
  /** Why it could not be installed or run. */
  readonly notRun?: string
  /** By the names of `workloads`. Absent: the subject does not do that. */
  readonly figures: Readonly<Record<string, number>>
}

export type Workload = {
  readonly id: string
  readonly title: string
  readonly unit: 'ms' | 'turns/s' | 'MB' | 'runs'
  readonly isMoreBetter?: true
}

export function workloads(lengths: readonly number[]): Workload[] {
  const ends = [lengths[1]!, lengths.at(-1)!]
  return [
    ...lengths.map((length) => ({ id: `turn_ms_at_${length}`, title: `turn ${length}`, unit: 'ms' as const })),
    { id: 'turns_per_s_of_16', title: '16 at once', unit: 'turns/s', isMoreBetter: true },
    { id: 'turns_per_s_of_64', title: '64 at once', unit: 'turns/s', isMoreBetter: true },
    ...ends.map((length) => ({ id: `resume_ms_at_${length}`, title: `resume at ${length}`, unit: 'ms' as const })),
    ...ends.map((length) => ({
      id: `answer_ms_at_${length}`,
      title: `of it, the answer at ${length}`,
      unit: 'ms' as const,
    })),
    { id: 'megabytes', title: `on disk after ${lengths.at(-1)} turns`, unit: 'MB' },
    { id: 'effects_of_two_approvals', title: 'runs of the effect, approved twice', unit: 'runs' },
    { id: 'import_ms', title: 'import', unit: 'ms' },
    { id: 'import_megabytes', title: 'memory of the import', unit: 'MB' },
  ]
}

/** The subject that others on the same kind of store are compared with. */
export function measureOf(results: PeersResults, { store }: SubjectResult): SubjectResult | undefined {
  const id = `perdure-${store === 'file' ? 'sqlite' : store}`
  return results.subjects.find((subject) => subject.id === id)
}
