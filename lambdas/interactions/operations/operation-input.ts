/** Parameters that an operation is sent. Specification 2.4; https://hl7.org/fhir/R4/parameters.html */
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'

/** How each may be sent: `resource`, or forms of value[x]. */
export type InputForms = Readonly<Record<string, readonly string[]>>

/** What was sent of a parameter: a resource, or a text. `place`: FHIRPath of it. */
export type OperationInput<Value = Resource | string> = { readonly value: Value; readonly place: string }

export type OperationInputs = ReadonlyMap<string, OperationInput>

/**
 * By name. FhirError 400 with its place: a fault of the Parameters themselves, a parameter that is not one of these, twice, or in another
 * form. What a resource in them holds is not looked at.
 */
export async function inputsOf(body: Resource, forms: InputForms): Promise<OperationInputs> {
  const parameter: readonly unknown[] = Array.isArray(body.parameter) ? body.parameter : []
  const issues = await structureIssuesOf({
    ...body,
    ...(Array.isArray(body.parameter) ? { parameter: parameter.map(withoutResource) } : {}),
  })
  if (issues.length > 0) throw new FhirError(400, issues)
  const inputs = new Map<string, OperationInput>()
  for (const [i, entry] of parameter.entries()) {
    const { name, input } = inputOf(entry as Element, `Parameters.parameter[${i}]`, forms)
    if (inputs.has(name)) throw fhirError(400, 'duplicate', `The parameter ${name} is sent twice`, input.place)
    inputs.set(name, input)
  }
  return inputs
}

/** A stand-in, which has nothing to be found. */
const ANY_RESOURCE: Resource = { resourceType: 'Parameters' }

const withoutResource = (entry: unknown): unknown =>
  isElement(entry) && isElement(entry.resource) ? { ...entry, resource: ANY_RESOURCE } : entry

function inputOf(entry: Element, place: string, forms: InputForms): { readonly name: string; readonly input: OperationInput } {
  const name = entry.name as string
  const wanted = Object.hasOwn(forms, name) ? forms[name]! : undefined
  if (wanted === undefined) {
    const known = Object.keys(forms).join(', ')
    throw fhirError(400, 'not-supported', `${name.slice(0, 64)} is not a parameter of this operation, which are ${known}`, place)
  }
  const form = wanted.find((each) => entry[each] !== undefined)
  if (form === undefined) throw fhirError(400, 'invalid', `The parameter ${name} is sent as ${wanted.join(' or ')}`, place)
  const value = entry[form] as Resource | string
  if (form === 'resource') checkResource(value, `${place}.resource`)
  return { name, input: { value, place: form === 'resource' ? `${place}.resource` : `${place}.value` } }
}

function checkResource(value: unknown, place: string): void {
  if (isResource(value) && isResourceType(value.resourceType)) return
  throw fhirError(400, 'structure', 'This is not a resource: an object with a resourceType of R4', place)
}

/** Of every interaction. https://hl7.org/fhir/R4/http.html#parameters */
const GENERAL: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])

/** FhirError 400 for one in the URL that is not among these: what is misspelt would not be missed. */
export function checkParameters(parameters: ParameterPairs, known: readonly string[]): void {
  const unknown = parameters.find(([name]) => !known.includes(name) && !GENERAL.has(name))
  if (unknown !== undefined)
    throw fhirError(400, 'not-supported', `${unknown[0].slice(0, 64)} is not a parameter of this operation in its URL`)
}

/** FhirError 400 where it was not sent. */
export function requiredInput(inputs: OperationInputs, name: string): OperationInput {
  const input = inputs.get(name)
  if (input === undefined) throw fhirError(400, 'required', `The parameter ${name} is missing`, 'Parameters.parameter')
  return input
}

/** The outcome of a check: what was found, or that nothing was. */
export const toOutcomeIssues = (issues: readonly Issue[]): readonly Issue[] => (issues.length > 0 ? issues : [NO_ISSUES])

const NO_ISSUES: Issue = { severity: 'information', code: 'informational', text: 'No issues' }
