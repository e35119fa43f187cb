/**
 * Targets and entities of Provenances in searches of a partner with a member in context. A stored Provenance may name resources that the
 * partner does not receive. A search by one of these finds nothing, like a search by a resource that does not exist.
 */
import { PARTNER_HIDDEN_PATHS, PARTNER_SHOWN_PARAMETERS } from '../../access/partner-types.ts'
import { RELATIVE_REFERENCE } from '../../fhir/references.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import { toResourceKey } from '../../ports/store/resource-key.ts'
import { parametersOf, type SearchParameter } from '../../search/parameters.ts'
import type { Condition } from '../../search/query/condition.ts'
import { hiddenParameterError, isHiddenParameter, isShownParameter } from '../../search/query/hidden-parameters.ts'
import type { SearchRequest } from '../../search/query/query.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { readInParts } from './bounded-reads.ts'

const TYPE = 'Provenance'

/** Targets and entities of Provenances, as the partner may use them in a search. */
type Targets = {
  /** Returns the parameter if it reads targets or entities. `field`: its field, also with a suffix. */
  readonly parameterOf: (field: string) => SearchParameter | undefined
  /** Returns the references without those to hidden resources. */
  readonly shownAmong: (references: readonly string[]) => Promise<readonly string[]>
}

/**
 * Returns the search without the targets and entities that a partner may not read. Throws FhirError 403 if it sorts or groups by them, or
 * if a criterion reads more of them than their references. Returns searches of other callers unchanged.
 */
export async function withoutHiddenTargets(
  { resources }: Pick<Ports, 'resources'>,
  request: FhirRequest,
  asked: SearchRequest,
): Promise<SearchRequest> {
  const { access, tenant, reading } = request
  if (access.partner?.limits === undefined) return asked
  const parameters = parametersOf(TYPE, reading.custom).filter(
    (each) => isHiddenParameter(PARTNER_HIDDEN_PATHS, TYPE, each) && !isShownParameter(PARTNER_SHOWN_PARAMETERS, TYPE, each),
  )
  const known = new Map(parameters.map((each) => [each.field, each]))
  const { current } = resources(request, 'r')
  const targets: Targets = {
    parameterOf: (field) => known.get(field.split(':')[0]!),
    async shownAmong(references) {
      const keys = references.filter((each) => RELATIVE_REFERENCE.test(each)).map((each) => toResourceKey(tenant, each))
      const hidden = new Set<string>()
      for await (const part of readInParts(keys, current))
        for (const [{ type, id }, version] of part) if (version?.deleted !== false) hidden.add(`${type}/${id}`)
      return references.filter((each) => !hidden.has(each))
    },
  }
  const { types, where, order, group } = asked
  const isOfProvenance = types === undefined || types.includes(TYPE)
  if (isOfProvenance) for (const { field } of [...order, ...(group === undefined ? [] : [group, ...group.order])]) checkUse(targets, field)
  return { ...asked, where: await Promise.all(where.map((each) => withShownTargets(targets, each, isOfProvenance))) }
}

/** `isOfProvenance`: whether the condition is about Provenances. */
async function withShownTargets(targets: Targets, condition: Condition, isOfProvenance: boolean): Promise<Condition> {
  switch (condition.kind) {
    case 'refers': {
      const to = condition.to.map(async ({ type, where }) => ({ type, where: await withShownTargets(targets, where, type === TYPE) }))
      return { ...condition, to: await Promise.all(to) }
    }
    case 'referredBy':
      return { ...condition, where: await withShownTargets(targets, condition.where, condition.by === TYPE) }
    default:
      return isOfProvenance ? shownIn(targets, condition) : condition
  }
}

async function shownIn(targets: Targets, predicate: Predicate): Promise<Predicate> {
  switch (predicate.kind) {
    case 'all':
    case 'some':
      return { ...predicate, of: await Promise.all(predicate.of.map((each) => shownIn(targets, each))) }
    case 'not':
      return { ...predicate, of: await shownIn(targets, predicate.of) }
    case 'compartment':
      return predicate
    case 'key':
      // guard: hidden-target-finds-no-provenance
      if (isReference(targets, predicate.field)) return { ...predicate, oneOf: await targets.shownAmong(predicate.oneOf) }
  }
  checkUse(targets, predicate.field)
  return predicate
}

/** Whether the field has the references of a parameter that reads targets. Other fields have more of the targets, such as identifiers. */
const isReference = ({ parameterOf }: Targets, field: string): boolean => parameterOf(field)?.type === 'reference' && !field.includes(':')

function checkUse({ parameterOf }: Targets, field: string): void {
  const parameter = parameterOf(field)
  // guard: hidden-target-sorts-no-provenance
  if (parameter !== undefined) throw hiddenParameterError(TYPE, parameter.code)
}
