/**
 * Search parameters that a caller must not use, because they read elements that the caller does not receive. A search by such a parameter
 * would reveal the element by its matches.
 */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Predicate, SortKey } from '../../ports/search/plan.ts'
import { findSearchParameter, parametersOf, type SearchParameter } from '../parameters.ts'
import type { HiddenPaths, SearchContext, ShownParameters } from '../search-context.ts'
import type { Condition } from './condition.ts'
import { elementsOf, type ReadElement } from './expression-paths.ts'
import { type Include, referenceParametersOf } from './include.ts'

/** Parts of a search that use parameters. `types`: undefined: all types. */
export type UsedParameters = {
  readonly types: readonly string[] | undefined
  readonly where: readonly Condition[]
  readonly order: readonly SortKey[]
  readonly group: { readonly field: string; readonly order: readonly SortKey[] } | undefined
  readonly includes: readonly Include[]
}

/** Throws FhirError 403 that names the parameter, if the search uses one that reads hidden elements. */
export function checkHiddenParameters(
  { types, where, order, group, includes }: UsedParameters,
  { hiddenPaths, shownParameters, custom }: SearchContext,
): void {
  if (hiddenPaths === undefined) return
  const check = (type: string, field: string): void => checkField({ hiddenPaths, shownParameters, custom }, type, field)
  // A search of all types has only parameters of all types. These read no hidden element on types without hidden elements.
  for (const type of types ?? Object.keys(hiddenPaths)) {
    for (const condition of where) checkCondition(type, condition, check)
    for (const { field } of [...order, ...(group?.order ?? [])]) check(type, field)
    if (group !== undefined) check(type, group.field)
  }
  // `*` skips hidden parameters, see `isHiddenParameter`.
  for (const include of includes)
    if (include.code !== '*') for (const { field } of referenceParametersOf(include, include.source, custom)) check(include.source, field)
}

type Check = (type: string, field: string) => void

function checkCondition(type: string, condition: Condition, check: Check): void {
  switch (condition.kind) {
    case 'refers':
      check(type, condition.field)
      for (const { type: target, where } of condition.to) checkCondition(target, where, check)
      return
    case 'referredBy':
      check(condition.by, condition.field)
      checkCondition(condition.by, condition.where, check)
      return
    default:
      checkPredicate(type, condition, check)
  }
}

function checkPredicate(type: string, predicate: Predicate, check: Check): void {
  if ('field' in predicate) check(type, predicate.field)
  if (predicate.kind === 'all' || predicate.kind === 'some') for (const each of predicate.of) checkPredicate(type, each, check)
  if (predicate.kind === 'not') checkPredicate(type, predicate.of, check)
}

type HiddenElements = {
  readonly hiddenPaths: HiddenPaths
  readonly shownParameters: ShownParameters | undefined
  readonly custom: SearchContext['custom'] | undefined
}

function checkField({ hiddenPaths, shownParameters, custom }: HiddenElements, type: string, field: string): void {
  const parameters = parametersOf(type, custom).filter((each) => field === each.field || field.startsWith(`${each.field}:`))
  const hidden = parameters.find(
    (parameter) => isHiddenParameter(hiddenPaths, type, parameter) && !isShownParameter(shownParameters, type, parameter),
  )
  // guard: hidden-element-is-not-searched
  if (hidden !== undefined) throw hiddenParameterError(type, hidden.code)
  if (parameters.length === 0 && Object.hasOwn(hiddenPaths, type)) throw hiddenParameterError(type, field)
}

export const hiddenParameterError = (type: string, code: string): FhirError =>
  fhirError(
    403,
    'forbidden',
    `The search parameter ${code} of ${type} reads elements that this client does not receive. Use another parameter`,
  )

/** Whether the parameter is an R4 parameter with one of these codes. A custom parameter of the same code may read other elements. */
export const isShownParameter = (shown: ShownParameters | undefined, type: string, { code, field }: SearchParameter): boolean =>
  shown?.[type]?.includes(code) === true && findSearchParameter(type, code)?.field === field

/** Whether the parameter may read an element of the type that is hidden. */
export function isHiddenParameter(hiddenPaths: HiddenPaths, type: string, { source }: SearchParameter): boolean {
  // guard: interpreted-parameter-may-read-hidden-elements
  const elements = source === undefined || 'interpreted' in source ? undefined : elementsOf(source)
  if (elements === undefined) return true
  const hidden = Object.hasOwn(hiddenPaths, type) ? hiddenPaths[type]!.map((path) => path.split('.')) : undefined
  return elements.some((element) => isInner(type, element) || (hidden !== undefined && isHidden(element, hidden)))
}

/** Whether the element may be in a nested resource. The type of that resource may have hidden elements. */
const isInner = (type: string, { path }: ReadElement): boolean =>
  path.includes('contained') || (HOLDERS.has(type) && path.some((name) => name === 'resource' || name === 'outcome'))

const HOLDERS: ReadonlySet<string> = new Set(['Bundle', 'Parameters'])

/** Types of values that may be an amount of money, also outside the hidden paths. */
const AMOUNTS: ReadonlySet<string> = new Set(['Money', 'Quantity', 'SimpleQuantity', 'Range', 'Ratio', 'decimal', 'Extension'])

/** JSON members that may be an amount of money. The view then hides them with all their children. */
const AMOUNT_MEMBER = /^(?:quantity|value(?:Money|Quantity|Range|Ratio|Decimal))$/

function isHidden({ path, type }: ReadElement, hidden: readonly (readonly string[])[]): boolean {
  if (AMOUNTS.has(type) || path.some((name) => AMOUNT_MEMBER.test(name))) return true
  // An extension with an amount is hidden with its URL.
  const extension = path.findLastIndex((name) => name === 'extension' || name === 'modifierExtension')
  if (extension >= 0 && !path[extension + 1]?.startsWith('value')) return true
  return hidden.some((names) => names.slice(0, path.length).every((name, i) => isMember(path[i]!, name)))
}

/** Whether a JSON member belongs to the element. A choice element has the type of its value at the end. */
const isMember = (member: string, element: string): boolean => member === element || (element === 'value' && /^value[A-Z]/.test(member))
