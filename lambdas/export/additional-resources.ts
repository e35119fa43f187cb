/**
 * Rules for additional resources: resources that an export includes because exported resources refer to them. Specification 2.8; paths:
 * https://www.rfc-editor.org/rfc/rfc9535
 */
import { isElement } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import defaults from './additional-resources.json' with { type: 'json' }
import type { ExportLevel } from './export-request.ts'
import { compilePath } from './json-path.ts'

export type AdditionalResource = {
  readonly allowedForGroupExport: boolean
  readonly allowedForPatientExport: boolean
  /** JSONPath in the referencing resource. It selects References, or the strings in their `reference`. */
  readonly path: string
  readonly resourceTypes: readonly string[]
  /**
   * Present: the rule applies only to resources that another rule found, even if they are outside the period of the export. Settings cannot
   * contain such rules.
   */
  readonly onlyIfNamed?: true
}

/** Rules by type of the referencing resource. */
export type AdditionalResources = Readonly<Record<string, readonly AdditionalResource[]>>

/** Default rules. Only Group exports use them: they include Medication, Location, Organization and Practitioner. */
export const DEFAULT_ADDITIONAL_RESOURCES: AdditionalResources = defaults

/** Returns the rules that apply to exports of the level, by type of the referencing resource. System exports have none. */
export const rulesOf = (
  level: ExportLevel,
  additional: AdditionalResources,
): readonly (readonly [type: string, rules: readonly AdditionalResource[]])[] =>
  Object.entries(additional).flatMap(([type, rules]) => {
    const allowed = rules.filter(
      (rule) => (level === 'group' && rule.allowedForGroupExport) || (level === 'patient' && rule.allowedForPatientExport),
    )
    return allowed.length === 0 ? [] : [[type, allowed] as const]
  })

/** Checks and returns the rules of a setting. `name`: name of the setting. Throws RangeError that names the wrong rule or field. */
export function parseAdditionalResources(value: unknown, name: string): AdditionalResources {
  if (!isElement(value)) throw new RangeError(`${name} must be a JSON object: rules by the type of the resource that refers`)
  for (const [type, rules] of Object.entries(value)) {
    if (!isResourceType(type)) throw new RangeError(`${name}.${type} is no resource type of R4`)
    if (!Array.isArray(rules)) throw new RangeError(`${name}.${type} must be an array of rules`)
    for (const [i, rule] of rules.entries()) checkRule(rule, `${name}.${type}[${i}]`)
  }
  return value as AdditionalResources
}

const FIELDS = ['allowedForGroupExport', 'allowedForPatientExport', 'path', 'resourceTypes']

function checkRule(rule: unknown, location: string): void {
  if (!isElement(rule)) throw new RangeError(`${location} must be an object with ${FIELDS.join(', ')}`)
  const unknown = Object.keys(rule).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined) throw new RangeError(`${location}.${unknown} is not known: a rule has ${FIELDS.join(', ')}`)
  for (const field of ['allowedForGroupExport', 'allowedForPatientExport'])
    if (typeof rule[field] !== 'boolean') throw new RangeError(`${location}.${field} must be true or false`)
  checkPath(rule.path, `${location}.path`)
  const types: unknown = rule.resourceTypes
  if (!Array.isArray(types) || types.length === 0) throw new RangeError(`${location}.resourceTypes must be an array of resource types`)
  const invalid = types.findIndex((type) => typeof type !== 'string' || !isResourceType(type))
  if (invalid !== -1) throw new RangeError(`${location}.resourceTypes[${invalid}] is no resource type of R4`)
}

function checkPath(path: unknown, location: string): void {
  if (typeof path !== 'string') throw new RangeError(`${location} must be a JSONPath, as $.subject.reference`)
  try {
    compilePath(path)
  } catch (error) {
    throw new RangeError(`${location} is no JSONPath: ${(error as Error).message}`)
  }
}
