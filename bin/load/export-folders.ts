/**
 * Recognizes the files and lines of an export that are not resources: its manifest, its state, deletions and errors. They are not loaded
 * but reported. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status
 */
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { parseOutcomeIssues } from '../client/server-response.ts'
import type { SourceFile } from './file-reader.ts'

/** A file, or part of one, that is not loaded. `description`: description of the content. */
export type SkippedFile = { readonly file: string; readonly description: string }

/** Maximum bytes of a manifest. Larger files are loaded as resources. */
const LARGEST = 50_000_000

/**
 * Separates the files to load from the records of exports, and adds the transaction time to files of an export. Throws if a file of an
 * unfinished download is among them.
 */
export function separateExportRecords(all: readonly SourceFile[]): {
  readonly sources: readonly SourceFile[]
  readonly skipped: readonly SkippedFile[]
} {
  const records = new Map(all.flatMap((source) => [[source.file, recordIn(source)] as const]).filter(([, record]) => record !== undefined))
  const times = new Map([...records].flatMap(([file, record]) => (record?.time === undefined ? [] : [[dirname(file), record.time]])))
  const withTime = (source: SourceFile): SourceFile => {
    const exported = times.get(dirname(source.file))
    return exported === undefined ? source : { ...source, exported }
  }
  return {
    sources: all.filter(({ file }) => !records.has(file)).map(withTime),
    skipped: [...records].map(([file, record]) => ({ file, description: record!.description })),
  }
}

/** Description of an export record. `time`: transaction time of a manifest, in milliseconds since 1970. */
type ExportRecord = { readonly description: string; readonly time?: number }

/** Returns the record in a file, if it is one. Checks the name before the content, so that not every file is read. */
function recordIn({ file, size }: SourceFile): ExportRecord | undefined {
  const name = basename(file)
  if (!/^(?:manifest|export-state|.+\.part)\.json$/.test(name) || size > LARGEST) return undefined
  const found = objectIn(file)
  if (found === undefined || 'resourceType' in found) return undefined
  const { transactionTime, output } = found
  if (typeof transactionTime === 'string' && Array.isArray(output))
    return { description: 'the manifest of an export', time: Date.parse(transactionTime) || 0 }
  if (name === 'export-state.json' && hasOnly(found, ['job', 'transactionTime', 'of'])) return { description: 'how far an export is' }
  if (name.endsWith('.part.json') && hasOnly(found, ['etag', 'length']))
    throw new Error(`${dirname(file)} holds an export that is not finished: run fhir export again`)
  return undefined
}

function objectIn(file: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return typeof found === 'object' && found !== null ? (found as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

const hasOnly = (found: object, names: readonly string[]): boolean => Object.keys(found).every((name) => names.includes(name))

/** Returns a description of a line without a resource to load: its first issue, or that it holds deletions. Otherwise returns undefined. */
export function describeNonResource(line: Uint8Array): string | undefined {
  const text = Buffer.from(line).toString()
  const [issue] = parseOutcomeIssues(text) ?? []
  if (issue !== undefined) return issue.details?.text ?? issue.diagnostics ?? issue.code ?? 'an OperationOutcome'
  return isDeletions(text) ? 'deletions, which are left to you' : undefined
}

function isDeletions(text: string): boolean {
  try {
    const { resourceType, entry } = JSON.parse(text) as { readonly resourceType?: string; readonly entry?: readonly Entry[] }
    return (
      resourceType === 'Bundle' && entry?.every(({ request, resource }) => request?.method === 'DELETE' && resource === undefined) === true
    )
  } catch {
    return false
  }
}

type Entry = { readonly request?: { readonly method?: string }; readonly resource?: unknown }

/** Groups the files by export, oldest first, because later exports hold newer versions. Files of no export come first. */
export function groupByExport(sources: readonly SourceFile[]): readonly (readonly SourceFile[])[] {
  const groups = Map.groupBy(sources, ({ exported = Number.NEGATIVE_INFINITY }) => exported)
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}
