/** Manifest of a completed export job. Specification 2.7; https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status */
import { resolveSafeLink } from '../client/safe-link.ts'
import { ExportFault } from './export-fault.ts'

/** A file of the manifest. `name`: local name, unique in its folder. `count`: number of lines. */
export type ExportedFile = { readonly name: string; readonly kind: Kind; readonly url: string; readonly count?: number }

/** Types of stored resources that a setting of the server keeps out of Group exports. `setting`: its name. */
export type OmittedTypes = { readonly types: readonly string[]; readonly setting: string }

export type Manifest = {
  /** Instant, as the server wrote it. */
  readonly transactionTime: string
  readonly requiresAccessToken: boolean
  readonly files: readonly ExportedFile[]
  readonly omittedTypes: OmittedTypes | undefined
  /** The complete manifest as the server sent it. */
  readonly whole: object
}

/** Form of a FHIR instant: https://hl7.org/fhir/R4/datatypes.html#instant */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

const KINDS = ['output', 'deleted', 'error'] as const
type Kind = (typeof KINDS)[number]

type Item = { readonly type?: unknown; readonly url?: unknown; readonly count?: unknown }

/**
 * Parses a manifest. `job`: URL of the job, the base of relative links. Throws ExportFault if the text is not a manifest or a file has no
 * safe URL.
 */
export function parseManifest(text: string, job: string): Manifest {
  const whole = objectIn(text) as Readonly<Record<string, unknown>> | undefined
  const { transactionTime, requiresAccessToken } = whole ?? {}
  // The time becomes a folder name, so check its form: JavaScript reads other texts as dates, too.
  if (whole === undefined || typeof transactionTime !== 'string' || !INSTANT.test(transactionTime))
    throw new ExportFault('failed', `${job} answers with no manifest: it has no transactionTime`)
  const counts = new Map<string, number>()
  const files = KINDS.flatMap((kind) => itemsOf(whole[kind]).map((item) => fileOf(kind, item, counts, job)))
  return {
    transactionTime,
    requiresAccessToken: requiresAccessToken === true,
    files,
    omittedTypes: omittedTypesIn(whole.extension),
    whole,
  }
}

/** Returns a file with its local name. A type may have several files: `Patient.ndjson`, `Patient-2.ndjson`. */
function fileOf(kind: Kind, { type, url, count }: Item, counts: Map<string, number>, job: string): ExportedFile {
  const link = resolveSafeLink(url, job)
  if (link === undefined)
    throw new ExportFault('failed', `${job} answers with a file that has no URL of https, or of http where it has that itself`)
  // Never use a text of the server as a path.
  const stem = kind === 'output' ? (/^[A-Za-z]{1,64}$/.exec(String(type))?.[0] ?? 'unknown') : kind
  const number = (counts.get(stem) ?? 0) + 1
  counts.set(stem, number)
  const name = number === 1 ? `${stem}.ndjson` : `${stem}-${number}.ndjson`
  return { name, kind, url: link, ...(Number.isSafeInteger(count) ? { count: count as number } : {}) }
}

/**
 * Returns the omitted types that the extension names, or undefined if another server has something else there. Accepts plain names only,
 * because the command prints them.
 */
function omittedTypesIn(extension: unknown): OmittedTypes | undefined {
  const omitted = (extension as { readonly omittedTypes?: Partial<OmittedTypes> | null } | null | undefined)?.omittedTypes
  const { types, setting } = omitted ?? {}
  const isNamed = typeof setting === 'string' && /^\w{1,64}$/.test(setting) && Array.isArray(types) && types.length > 0
  return isNamed && types.every((type) => /^[A-Za-z]{1,64}$/.test(String(type))) ? { types, setting } : undefined
}

const itemsOf = (value: unknown): readonly Item[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item) : [])

function objectIn(text: string): object | undefined {
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null ? found : undefined
  } catch {
    return undefined
  }
}
