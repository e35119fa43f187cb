/** Codes of required bindings. A code outside the value set is an error. https://hl7.org/fhir/R4/terminologies.html#required */
import type { CodeSet } from '../path/definitions.ts'
import type { Element } from '../resource.ts'

export type AllowedCodes = {
  readonly has: (code: string) => boolean
  readonly hasCoding: (system: unknown, code: unknown) => boolean
  /** Message for a code that is not in the value set. */
  readonly fault: string
}

const CACHE = new WeakMap<CodeSet, AllowedCodes>()

/** Maximum codes of a value set that an issue lists. For a larger value set, the issue names only the URL. */
const FEW = 12

export function codesOf(set: CodeSet): AllowedCodes {
  const cached = CACHE.get(set)
  if (cached !== undefined) return cached
  const codesBySystem = new Map(Object.entries(set.codes).map(([system, codes]) => [system, new Set(codes)]))
  const all = new Set(Object.values(set.codes).flat())
  const list = all.size <= FEW ? `: ${[...all].join(', ')}` : ''
  const codes: AllowedCodes = {
    has: (code) => all.has(code),
    hasCoding: (system, code) => typeof system === 'string' && typeof code === 'string' && codesBySystem.get(system)?.has(code) === true,
    fault: `The code is not in the value set ${set.url}${list}`,
  }
  CACHE.set(set, codes)
  return codes
}

/** Returns the problem of a Coding or CodeableConcept with a required binding, or undefined if it is valid. */
export function findCodingProblem(type: string, value: Element, codes: AllowedCodes): string | undefined {
  if (type === 'Coding') return value.code === undefined || codes.hasCoding(value.system, value.code) ? undefined : codes.fault
  const codings = value.coding
  if (!Array.isArray(codings) || codings.length === 0)
    return value.extension === undefined ? `A coding is required. ${codes.fault}` : undefined
  for (const coding of codings as readonly (Element | null)[]) if (codes.hasCoding(coding?.system, coding?.code)) return undefined
  return codes.fault
}

/**
 * Whether a text has the form of a MIME type, optionally with parameters. The subtype may be absent. https://www.rfc-editor.org/rfc/rfc6838
 */
export const isMimeType = (text: string): boolean => /^[^\s;/]+(\/[^\s;]+)?\s*(;.*)?$/.test(text)
