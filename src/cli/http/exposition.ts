/** Prometheus' text format, version 0.0.4: three kinds of lines. https://prometheus.io/docs/instrumenting/exposition_formats/ */
export class Exposition {
  readonly #lines: string[] = []

  /** A family of samples; one without samples is left out. */
  family(name: string, kind: 'gauge' | 'counter' | 'histogram', help: string, samples: Iterable<Sample>): void {
    const body = [...samples].map(([labels, value, suffix = '']) => `${name}${suffix}${shownLabels(labels)} ${shownValue(value)}`)
    if (body.length > 0) this.#lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${kind}`, ...body)
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

type Labels = Readonly<Record<string, string | number>>
export type Sample = readonly [labels: Labels, value: number, suffix?: string]

const shownLabels = (labels: Labels): string => {
  const all = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return all.length === 0 ? '' : `{${all.join(',')}}`
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const shownValue = (value: number): string => (value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value))
