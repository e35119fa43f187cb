/** Scope check before any lookup: the scopes of a request must cover its interaction and type. */
import { ruleFor } from '../../access/rules.ts'
import type { Letter } from '../../access/scopes.ts'
import { INTERACTIONS, type InteractionCode } from '../../catalogue/catalogue.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { insufficientAdministratorScope, insufficientScope } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'
import { SHARED_TYPES } from './shared-definitions.ts'

/** Types that only administrators write, because their resources affect all requests of the tenant. */
const ADMINISTERED: ReadonlySet<string> = new Set(['SearchParameter', 'StructureDefinition', 'ValueSet', 'CodeSystem'])
const WRITES: ReadonlySet<InteractionCode> = new Set<InteractionCode>(['create', 'update', 'patch', 'delete'])

/**
 * Throws FhirError 403 if the scopes do not cover the interaction on the type of the request. A request without a type passes, because its
 * interaction checks the access to each type.
 */
export function checkScope(request: FhirRequest): void {
  const { interaction, type, access, reading, preferences } = request
  const needs = interaction === 'meta' && request.id === undefined ? (['s'] as const) : INTERACTIONS[interaction].scopes
  const isAdministered = type !== undefined && WRITES.has(interaction) && (ADMINISTERED.has(type) || isShared(request, type))
  const isForAdministrators = needs === 'administrator' || isAdministered || preferences.explain !== undefined
  if (isForAdministrators && !access.isAdministrator) throw insufficientAdministratorScope()
  if (interaction === 'export') return checkExport(request)
  if (needs === 'administrator' || needs === 'own' || type === undefined) return
  // guard: scope-covers-the-type
  for (const letter of isConditional(request) ? [...needs, 's' as const] : needs)
    if (ruleFor(access, type, letter, reading) === undefined) throw insufficientScope(access, type, letter)
}

/** Whether definitions of the type affect all tenants: the request is about the shared tenant, and the type is shared. */
function isShared({ tenant, sharedTenant }: FhirRequest, type: string): boolean {
  // guard: shared-definition-needs-administrator
  return tenant === sharedTenant && SHARED_TYPES.has(type)
}

/**
 * Throws FhirError 403 if no type has both scopes, read and search. Otherwise the export omits the types that lack one. The kick-off checks
 * the access to Group.
 */
function checkExport({ access, reading }: FhirRequest): void {
  const isInScope = (type: string, letter: Letter): boolean => ruleFor(access, type, letter, reading) !== undefined
  if (!resourceTypes.some((type) => isInScope(type, 'r') && isInScope(type, 's'))) throw insufficientScope(access, '*', 'rs')
}

/** Whether the write finds its resource by search criteria, and therefore needs the search scope too. */
const isConditional = ({ interaction, id, preconditions }: FhirRequest): boolean =>
  WRITES.has(interaction) && (interaction === 'create' ? preconditions.ifNoneExist !== undefined : id === undefined)
