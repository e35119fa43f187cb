/**
 * The table of views: the parts of a resource that a partner does not receive. A partner receives no remittances of providers and no
 * cost-sharing of members (42 CFR 422.121). The rules for claims follow the Basis profiles of CARIN.
 * https://hl7.org/fhir/us/carin-bb/
 */

import type { HiddenPaths, SearchContext } from '../../search/search-context.ts'
import { LISTED_MEMBERS, PARTNER_HIDDEN_PATHS, PARTNER_SHOWN_PARAMETERS } from '../partner-types.ts'

/** Kind of partner. Both kinds receive the same parts of a resource. They differ in the resources that an export selects. */
export type View = 'payer' | 'provider'

/**
 * Rule for types. The first rule that applies to a resource counts. A type without a rule stays whole, except for resources inside it.
 *
 * `uses`: values of `use` that the rule applies to. Absent: any. `isHidden`: the resource looks missing. `removed`: paths of elements.
 * `states`: categories, as `system|code`, of the adjudications that stay, without their amounts; all others are removed. `masked`:
 * categories, as code of any system, of the adjudications and totals whose amounts are masked; the other amounts stay. `hasBasis`: the
 * profiles that the resource claims have a twin without amounts.
 */
export type ViewRule = {
  readonly types: readonly string[]
  readonly uses?: readonly string[]
  readonly isHidden?: true
  readonly removed: readonly string[]
  readonly states?: ReadonlySet<string>
  readonly masked?: ReadonlySet<string>
  readonly hasBasis?: true
}

const PARTS = ['item', 'item.detail', 'item.detail.subDetail', 'addItem', 'addItem.detail', 'addItem.detail.subDetail']
const PRICES = PARTS.flatMap((part) => ['unitPrice', 'factor', 'net'].map((name) => `${part}.${name}`))
const ADJUDICATIONS = ['adjudication', ...PARTS.map((part) => `${part}.adjudication`)]

/**
 * Narrative and printed form, which repeat the amounts. The view keeps `disposition` and `processNote`, although a payer may write an
 * amount into their text. The Basis profiles require support of `processNote.text`, and do not limit `disposition`.
 */
const PRINTS = ['text', 'form']

const STATES = [
  'http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBAdjudicationDiscriminator',
  'http://hl7.org/fhir/us/davinci-pdex/CodeSystem/PDexAdjudicationDiscriminator',
].flatMap((system) =>
  [
    ...['billingnetworkstatus', 'renderingnetworkstatus', 'benefitpaymentstatus'],
    ...['adjustmentreason', 'rejectreason', 'denialreason', 'allowedunits'],
  ].map((code) => `${system}|${code}`),
)

/** Remittances and cost-sharing. Submitted and eligible amounts are neither. */
const SHARES = [
  ...['paid', 'benefit', 'paidtoprovider', 'paidtopatient', 'priorpayerpaid'],
  ...['copay', 'deductible', 'unallocdeduct', 'coinsurance', 'memberliability'],
  ...['paidbypatient', 'paidbypatientcash', 'paidbypatientother', 'paidbypatienthealthaccount'],
]

const RULES: readonly ViewRule[] = [
  {
    types: ['Claim', 'ClaimResponse', 'PaymentNotice', 'PaymentReconciliation', 'Invoice', 'Account', 'ChargeItem'],
    isHidden: true,
    removed: [],
  },
  // Answers with deductibles and copays of the member, and questions with prices.
  { types: ['CoverageEligibilityResponse', 'CoverageEligibilityRequest'], isHidden: true, removed: [] },
  { types: ['Coverage'], removed: ['text', 'costToBeneficiary'] },
  {
    types: ['ExplanationOfBenefit'],
    uses: ['preauthorization', 'predetermination'],
    removed: [...PRINTS, 'payment', 'benefitBalance', ...PRICES],
    masked: new Set(SHARES),
  },
  {
    types: ['ExplanationOfBenefit'],
    removed: [...PRINTS, 'total', 'payment', 'benefitBalance', 'benefitPeriod', ...PRICES],
    states: new Set(STATES),
    hasBasis: true,
  },
]

/** Rule for a resource contained in one with a rule, if its own type has none: only money is removed. */
export const INNER_RULE: ViewRule = { types: [], removed: [] }

const BY_TYPE: ReadonlyMap<string, readonly ViewRule[]> = new Map(
  RULES.flatMap(({ types }) => types).map((type) => [type, RULES.filter(({ types }) => types.includes(type))]),
)
const RULES_OF: Readonly<Record<View, typeof BY_TYPE>> = { payer: BY_TYPE, provider: BY_TYPE }
const NONE: readonly ViewRule[] = []

export const rulesFor = (type: string, view: View): readonly ViewRule[] => RULES_OF[view].get(type) ?? NONE

/** Returns the rule for a resource. A `use` that is missing or no text has the rule without `uses`, which removes most. */
export const ruleFor = (type: string, use: unknown, view: View): ViewRule | undefined =>
  rulesFor(type, view).find(({ uses }) => uses === undefined || (typeof use === 'string' && uses.includes(use)))

/** Whether the resources of a type look missing. */
export const isHiddenType = (type: string, view: View): boolean => rulesFor(type, view).some(({ isHidden }) => isHidden)

/**
 * Returns the paths that the view may remove or change in a type, without the type: `item.net`. `*`: the whole resource. A search by one of
 * them, or by an element below, could reveal an amount. Also any extension could: rules with paths remove those with money.
 */
export function hiddenPathsOf(type: string, view: View): readonly string[] {
  const paths = rulesFor(type, view).flatMap(({ isHidden, removed, states, masked, hasBasis }) => [
    ...(isHidden ? ['*'] : removed),
    ...(hasBasis ? ['meta.profile'] : []),
    ...(states === undefined ? [] : [...ADJUDICATIONS, 'supportingInfo']),
    ...(masked === undefined ? [] : [...ADJUDICATIONS, 'total', 'supportingInfo']),
  ])
  return [...new Set(paths)]
}

const HIDDEN_PATHS: Readonly<Record<View, HiddenPaths>> = { payer: hiddenIn('payer'), provider: hiddenIn('provider') }

/**
 * Returns the hidden paths of all types whose resources are shown. A caller finds no resource of the other types. The paths of a Group are hidden
 * unless it is of a match, so a search by them could reveal members.
 */
function hiddenIn(view: View): HiddenPaths {
  const types = [...BY_TYPE.keys()].filter((type) => !isHiddenType(type, view))
  // guard: listed-members-are-not-searched
  return { ...Object.fromEntries(types.map((type) => [type, hiddenPathsOf(type, view)])), Group: LISTED_MEMBERS }
}

/** Returns the search context of a caller with a view. It lacks the parameters that could reveal hidden elements. */
export const searchContextUnder = <Context extends SearchContext>(view: View | undefined, context: Context): Context =>
  view === undefined ? context : { ...context, hiddenPaths: HIDDEN_PATHS[view], shownParameters: PARTNER_SHOWN_PARAMETERS }

/**
 * Returns the search context of criteria that are evaluated on stored resources: conditions of scopes, and filters of exports. It also
 * hides the parameters that read targets and entities of Provenances, because a partner does not receive all of them.
 */
export function criteriaContextUnder<Context extends SearchContext>(view: View | undefined, context: Context): Context {
  if (view === undefined) return context
  // guard: partner-criteria-by-shown-elements
  return { ...context, hiddenPaths: { ...HIDDEN_PATHS[view], ...PARTNER_HIDDEN_PATHS }, shownParameters: PARTNER_SHOWN_PARAMETERS }
}
