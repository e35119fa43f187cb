/**
 * Access rules: predicates that select the visible resources of a type. Indexes restrict searches by them; judge.ts evaluates single
 * versions.
 */
import { patientCompartmentTypes } from '../fhir/compartment.ts'
import { ALWAYS_FALSE, ALWAYS_TRUE, and, isAlwaysFalse, isAlwaysTrue, or, type Predicate } from '../ports/search/plan.ts'
import type { SearchContext } from '../search/search-context.ts'
import { type Access, type AccessClause, clausesFor } from './access.ts'
import { conditionOf } from './scope-conditions.ts'
import type { Letter } from './scopes.ts'
import type { View } from './view/view-rules.ts'

type Rules = Map<string, Predicate | undefined>

/** Cached rules by access and by the list of custom parameters. A change of the custom parameters creates a new list, and so new rules. */
const RULES = new WeakMap<Access, WeakMap<object, Rules>>()
const NO_CUSTOM: object = []

/** Returns the predicate for the resources of a type that the letter allows, or undefined if the type is out of scope. */
export function ruleFor(access: Access, type: string, letter: Letter, reading: SearchContext): Predicate | undefined {
  const rules = rulesOf(access, reading.custom ?? NO_CUSTOM)
  const name = `${letter} ${type}`
  if (!rules.has(name)) rules.set(name, createRule(access, type, letter, reading))
  return rules.get(name)
}

/**
 * Returns the predicate for the resources of a type that all of the letters allow. Returns undefined if the type is out of scope under one
 * of them.
 */
export function ruleForLetters(access: Access, type: string, letters: readonly Letter[], reading: SearchContext): Predicate | undefined {
  const rules = letters.map((letter) => ruleFor(access, type, letter, reading))
  return rules.reduce((both, rule) =>
    both === undefined || rule === undefined ? undefined : JSON.stringify(both) === JSON.stringify(rule) ? rule : bothOf(both, rule),
  )
}

/** Whether a single clause allows the letter for all resources of the tenant, of any type. */
export const isWholeTenant = ({ clauses }: Access, letter: Letter): boolean =>
  clauses.some(({ type, letters, query, within }) => type === '*' && query === '' && within === undefined && letters.includes(letter))

/**
 * Whether the letter is allowed for all resources of a type. For Binary it must be allowed for the whole tenant, because a security context
 * may have any type.
 */
export function isWholeType(access: Access, type: string, letter: Letter, reading: SearchContext): boolean {
  // guard: binary-read-needs-whole-tenant
  if (type === 'Binary') return isWholeTenant(access, letter)
  const rule = ruleFor(access, type, letter, reading)
  return rule !== undefined && isAlwaysTrue(rule)
}

function rulesOf(access: Access, custom: object): Rules {
  const cache = RULES.get(access) ?? new WeakMap<object, Rules>()
  RULES.set(access, cache)
  const rules = cache.get(custom) ?? (new Map() as Rules)
  cache.set(custom, rules)
  return rules
}

/**
 * Creates the predicate that `ruleFor` caches. Indexes hold no security contexts, so a search finds Binaries only for callers that may
 * search the whole tenant.
 */
function createRule(access: Access, type: string, letter: Letter, reading: SearchContext): Predicate | undefined {
  const clauses = clausesFor(access, type, letter)
  if (clauses.length === 0) return undefined
  // guard: binary-search-needs-whole-tenant
  if (type === 'Binary' && letter === 's' && !isWholeTenant(access, 's')) return ALWAYS_FALSE
  return eitherOf(clauses.map((clause) => ruleOfClause(clause, type, reading, access.view)))
}

/**
 * Returns the predicate for the resources of `type` that a clause allows. The clause must cover the type. Throws FhirError 403 if its
 * condition uses an element that the view of the caller hides.
 */
export const ruleOfClause = (clause: AccessClause, type: string, reading: SearchContext, view?: View): Predicate =>
  bothOf(contextOf(clause, type), clause.query === '' ? ALWAYS_TRUE : conditionOf(clause.query, type, reading, view))

function eitherOf(rules: readonly Predicate[]): Predicate {
  const possible = rules.filter((rule) => !isAlwaysFalse(rule))
  return possible.find(isAlwaysTrue) ?? (possible.length === 0 ? ALWAYS_FALSE : or(...possible))
}

function bothOf(a: Predicate, b: Predicate): Predicate {
  if (isAlwaysFalse(a) || isAlwaysFalse(b)) return ALWAYS_FALSE
  return isAlwaysTrue(a) ? b : isAlwaysTrue(b) ? a : and(a, b)
}

/** Types without patient data. A clause for certain patients covers all resources of these types for reading, and none for writing. */
export const NON_PATIENT_TYPES: ReadonlySet<string> = new Set([
  ...['Organization', 'Practitioner', 'PractitionerRole', 'Location', 'Medication', 'HealthcareService', 'Endpoint'],
  ...['CodeSystem', 'ValueSet', 'ConceptMap', 'NamingSystem', 'TerminologyCapabilities'],
  ...['CapabilityStatement', 'CompartmentDefinition', 'GraphDefinition', 'ImplementationGuide', 'MessageDefinition'],
  ...['OperationDefinition', 'SearchParameter', 'StructureDefinition', 'StructureMap'],
])

function contextOf({ ids, ...clause }: AccessClause, type: string): Predicate {
  const context = patientContextOf(clause, type)
  // guard: clause-of-listed-resources
  return ids === undefined ? context : ids.length === 0 ? ALWAYS_FALSE : bothOf(context, { kind: 'key', field: '_id:code', oneOf: ids })
}

function patientContextOf({ within, id }: AccessClause, type: string): Predicate {
  // guard: clause-of-one-resource
  if (id !== undefined) return { kind: 'key', field: '_id:code', oneOf: [id] }
  if (within === undefined || NON_PATIENT_TYPES.has(type)) return ALWAYS_TRUE
  if (within.length === 0) return ALWAYS_FALSE
  if (type === 'Patient') return { kind: 'key', field: '_id:code', oneOf: within.map((name) => name.slice('Patient/'.length)) }
  if (type === 'Device') return { kind: 'key', field: DEVICE_PATIENT_FIELD, oneOf: within }
  return type !== 'Group' && patientCompartmentTypes.has(type) ? { kind: 'compartment', oneOf: within } : ALWAYS_FALSE
}

/** Index field of the search parameter `patient` of Device, which assigns a Device to its patient. */
export const DEVICE_PATIENT_FIELD = 'patient'
