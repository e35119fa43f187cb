/** Compares the requirements of a CapabilityStatement with the CapabilityStatement of this server. */
import { withoutVersion } from '../../fhir/profile/canonical.ts'
import type { Element } from '../../fhir/resource.ts'
import type { CapabilityRequirements, PartRequirements } from '../../ports/definitions/package-definitions.ts'
import { findSearchParameter } from '../../search/parameters.ts'

/** Returns the requirements that the server does not meet, one line each. `rest`: element of the CapabilityStatement of the server. */
export function missingCapabilities({ parts }: CapabilityRequirements, rest: Element): readonly string[] {
  const resources = new Map(listIn(rest.resource).map((each) => [each.type, each]))
  return parts.flatMap((part) => {
    const claimed = part.type === undefined ? rest : resources.get(part.type)
    return claimed === undefined ? [`${part.type}: resource type`] : missingIn(part, claimed, rest)
  })
}

function missingIn(part: PartRequirements, claimed: Element, rest: Element): readonly string[] {
  const parameters = new Set([...listIn(claimed.searchParam), ...listIn(rest.searchParam)].map(({ name }) => name))
  const operations = new Set(listIn(claimed.operation).flatMap(({ name, definition }) => [name, definition]))
  const interactions = new Set(listIn(claimed.interaction).map(({ code }) => code))
  const lacks = (what: string, wanted: readonly string[], isClaimed: (each: string) => boolean): readonly string[] =>
    wanted.filter((each) => !isClaimed(each)).map((each) => `${part.type ?? 'System'}: ${what} ${each}`)
  return [
    ...lacks('interaction', part.interactions, (code) => interactions.has(code)),
    ...lacks('search parameter', part.parameters, (name) => parameters.has(name)),
    ...lacks('_include', part.includes, isIn(claimed.searchInclude)),
    ...lacks('_revinclude', part.revIncludes, isIn(claimed.searchRevInclude)),
    ...lacks('operation', part.operations, (canonical) => operations.has(withoutVersion(canonical))),
    ...lacks(
      'combination',
      part.combinations.map((codes) => codes.join(' + ')),
      (codes) => codes.split(' + ').every((code) => parameters.has(code)),
    ),
  ]
}

/** Returns a check whether a list has an include. `*` contains `Type:*`. R4's `Type:parameter` contains `Type:parameter:Target`. */
const isIn = (list: unknown) => {
  const claimed = new Set<unknown>(Array.isArray(list) ? list : [])
  return (include: string): boolean => {
    const [source = '', code = '', target] = include.split(':')
    const isTarget = target !== undefined && findSearchParameter(source, code)?.targets.includes(target) === true
    return claimed.has(code === '*' ? code : include) || (isTarget && claimed.has(`${source}:${code}`))
  }
}

const listIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? (list as readonly Element[]) : [])
