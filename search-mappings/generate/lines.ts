/** Returns JSON with one member or item on each line, so that diffs are readable. */
export function toJsonLines(data: Readonly<Record<string, unknown>> | readonly unknown[]): string {
  if (Array.isArray(data)) return `[\n${data.map((item) => JSON.stringify(item)).join(',\n')}\n]\n`
  const members = Object.entries(data).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `{\n${members.join(',\n')}\n}\n`
}
