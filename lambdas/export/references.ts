/**
 * What an exported resource refers to that is exported with it. Specification 4.5: Patients always, where patients are exported; others by the
 * rules of 2.8. Most resources are not parsed for it: their bytes tell that they refer to nothing of interest.
 */
import { query } from 'jsonpath-rfc9535'
import { parseJsonBytes } from '../fhir/json.ts'
import { localReference } from '../fhir/references.ts'
import { isElement, type Resource } from '../fhir/resource.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import { type AdditionalResource, type AdditionalResources, rulesOf } from './additional-resources.ts'
import type { Level } from './asked.ts'

/** `Type/id` of each, perhaps some twice. */
export type References = (version: ResourceVersion) => readonly string[]

/** `baseUrl`: of this server, without a slash at the end; references to others, and to what is contained, do not count. */
export function referencesOf(level: Level, rules: AdditionalResources, baseUrl: string | undefined): References {
  if (level === 'system') return () => []
  const byType = new Map(rulesOf(level, rules).map(([type, each]) => [type, markedRules(each)]))
  return (version) => {
    if (version.deleted) return []
    const body = Buffer.from(version.body.buffer, version.body.byteOffset, version.body.length)
    const found = patientsIn(body, baseUrl)
    const ofType = byType.get(version.type)
    if (ofType?.marks.some((mark) => body.includes(mark)) !== true) return found
    return [...found, ...ruledIn(parseJsonBytes(body) as Resource, ofType.rules, baseUrl)]
  }
}

type OfType = { readonly rules: readonly AdditionalResource[]; readonly marks: readonly Buffer[] }

/** `marks`: bytes of which some stand in whatever refers to one of the types. */
const markedRules = (rules: readonly AdditionalResource[]): OfType => ({
  rules,
  marks: [...new Set(rules.flatMap(({ resourceTypes }) => resourceTypes))].map((type) => Buffer.from(`${type}/`)),
})

function* ruledIn(resource: Resource, rules: readonly AdditionalResource[], baseUrl: string | undefined): Iterable<string> {
  for (const { path, resourceTypes } of rules)
    for (const value of query(resource as never, path)) {
      const text = isElement(value) ? value.reference : value
      const name = typeof text === 'string' ? localReference(text, baseUrl) : undefined
      if (name !== undefined && resourceTypes.includes(name.slice(0, name.indexOf('/')))) yield name
    }
}

const PATIENT = Buffer.from('Patient/')
const MEMBER = Buffer.from('"reference":"')
const QUOTE = 34
const BACKSLASH = 92

/** Wherever a member called `reference` stands: bodies are written by this server, which puts no blanks between and escapes nothing needless. */
function patientsIn(body: Buffer, baseUrl: string | undefined): readonly string[] {
  const found: string[] = []
  for (let at = body.indexOf(PATIENT); at !== -1; at = body.indexOf(PATIENT, at + PATIENT.length)) {
    const start = body.lastIndexOf(QUOTE, at) + 1
    if (!isMember(body, start)) continue
    const name = localReference(body.toString('latin1', start, body.indexOf(QUOTE, at)), baseUrl)
    if (name?.startsWith('Patient/')) found.push(name)
  }
  return found
}

/** In the text of a string each quote has a backslash before it. */
const isMember = (body: Buffer, start: number): boolean =>
  start > MEMBER.length && body[start - MEMBER.length - 1] !== BACKSLASH && body.subarray(start - MEMBER.length, start).equals(MEMBER)
