/** A metric in the text format of Prometheus. */
export type TextMetric = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly TextSample[]
}

/** `suffix`: of the name, as in `_bucket`. */
export type TextSample = {
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** The media type of the text. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

/** The text that Prometheus scrapes. A metric without samples is left out. Names must be in its form already; help and labels may have any text. */
export function prometheusText(metrics: readonly TextMetric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(metricText)
    .join('')
}

function metricText({ name, type, help, samples }: TextMetric): string {
  const lines = samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}\n`)
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', ' ')
}
