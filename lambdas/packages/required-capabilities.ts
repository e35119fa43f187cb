/**
 * Capabilities that the CapabilityStatements of a package require of servers. https://hl7.org/fhir/R4/capabilitystatement.html,
 * https://hl7.org/fhir/R4/extension-capabilitystatement-expectation.html
 */
import { type Element, isElement, type Resource } from '../fhir/resource.ts'
import type { CapabilityRequirements, PartRequirements } from '../ports/definitions/package-definitions.ts'
import type { PackageReader } from './package-reader.ts'

/** File with the requirements of a package, by canonical URL. Absent in a package without requirements. */
const REQUIREMENTS_FILE = 'requirements'

/**
 * Returns the file with the requirements of these statements. Skips statements of other kinds than `requirements`, those for clients, and those
 * that import requirements of others.
 */
export function requirementFilesOf(statements: readonly Resource[]): readonly (readonly [file: string, text: string])[] {
  const all = statements.flatMap(requirementsIn)
  return all.length === 0
    ? []
    : [[`${REQUIREMENTS_FILE}.json`, JSON.stringify(Object.fromEntries(all.map((each) => [each.canonical, each])))]]
}

/** Returns the requirements of the packages. */
export async function readRequirements(packages: readonly PackageReader[]): Promise<readonly CapabilityRequirements[]> {
  const files = await Promise.all(packages.map((each) => each.optionalFile<CapabilityRequirements>(REQUIREMENTS_FILE)))
  return files.flatMap((file) => Object.values(file))
}

function requirementsIn({ url, version, kind, status, imports, rest }: Resource): readonly CapabilityRequirements[] {
  if (imports !== undefined) return []
  if (typeof url !== 'string' || kind !== 'requirements' || status === 'retired') return []
  const ofServers = elementsIn(rest).filter(({ mode }) => mode === 'server')
  if (ofServers.length === 0) return []
  const parts = ofServers.flatMap((each) => [each, ...elementsIn(each.resource)]).map(requirementsOfPart)
  return [{ canonical: typeof version === 'string' ? `${url}|${version}` : url, parts }]
}

function requirementsOfPart(part: Element): PartRequirements {
  return {
    ...(typeof part.type === 'string' ? { type: part.type } : {}),
    interactions: required(part.interaction).map(({ code }) => String(code)),
    parameters: required(part.searchParam).map(({ name }) => String(name)),
    operations: required(part.operation).map(({ name, definition }) => String(definition ?? name)),
    includes: requiredTexts(part, 'searchInclude'),
    revIncludes: requiredTexts(part, 'searchRevInclude'),
    combinations: required(part.extension)
      .filter(({ url }) => url === COMBINATION)
      .map(({ extension }) => elementsIn(extension).flatMap(({ url, valueString }) => (url === 'required' ? [String(valueString)] : []))),
  }
}

const COMBINATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination'
const EXPECTATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-expectation'

/**
 * Returns the required elements. An element without an expectation counts as required, so that the server never claims a capability that it
 * lacks.
 */
const required = (elements: unknown): readonly Element[] => elementsIn(elements).filter(isRequired)

function requiredTexts(part: Element, name: string): readonly string[] {
  const [texts, companions] = [part[name], part[`_${name}`]]
  return Array.isArray(texts) ? texts.map(String).filter((_, i) => isRequired(Array.isArray(companions) ? companions[i] : undefined)) : []
}

const isRequired = (each: unknown): boolean => ['SHALL', undefined].includes(expectationOf(each))

function expectationOf(each: unknown): string | undefined {
  const found = elementsIn(isElement(each) ? each.extension : undefined).find(({ url }) => url === EXPECTATION)
  return found === undefined ? undefined : String(found.valueCode)
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
