/** Reads the Parameters in the body of an operation. Specification 2.4; https://hl7.org/fhir/R4/parameters.html */
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'

/** Parameters that an operation accepts, by name, with the accepted forms: `resource`, or names of value[x] such as `valueCode`. */
export type InputForms = Readonly<Record<string, readonly string[]>>

/** Value of a parameter: a resource or a text. `place`: FHIRPath of the value. */
export type OperationInput<Value = Resource | string> = { readonly value: Value; readonly place: string }

export type OperationInputs = ReadonlyMap<string, OperationInput>

/**
 * Returns the parameters by name. Throws FhirError 400 with the location if the Parameters are invalid, or if a parameter is unknown,
 * repeated or has another form. Does not validate the resources inside the Parameters.
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

/** Valid placeholder for a resource inside the Parameters, so that its content causes no issues. */
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

/** URL parameters that every interaction accepts. https://hl7.org/fhir/R4/http.html#parameters */
const GENERAL: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])

/**
 * Throws FhirError 400 for a URL parameter that is not in `known` and not general. Otherwise the server would ignore a misspelt parameter.
 */
export function checkParameters(parameters: ParameterPairs, known: readonly string[]): void {
  const unknown = parameters.find(([name]) => !known.includes(name) && !GENERAL.has(name))
  if (unknown !== undefined)
    throw fhirError(400, 'not-supported', `${unknown[0].slice(0, 64)} is not a parameter of this operation in its URL`)
}

/** Returns the parameter. Throws FhirError 400 if it is missing. */
export function requiredInput(inputs: OperationInputs, name: string): OperationInput {
  const input = inputs.get(name)
  if (input === undefined) throw fhirError(400, 'required', `The parameter ${name} is missing`, 'Parameters.parameter')
  return input
}

/** Returns the issues, or one informational issue if there are none: an OperationOutcome needs at least one. */
export const toOutcomeIssues = (issues: readonly Issue[]): readonly Issue[] => (issues.length > 0 ? issues : [NO_ISSUES])

const NO_ISSUES: Issue = { severity: 'information', code: 'informational', text: 'No issues' }
