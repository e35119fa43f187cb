/** Judges the Consent that another payer sends. https://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html */
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import { DISCLOSE, INFORMATION_DISCLOSURE, PATIENT_PRIVACY, REGULAR_POLICY, SENSITIVE_POLICY, SOURCE } from '../codes.ts'
import { covers, endOf, hasCode, haveCode, itemsOf, type PartyIdentifier } from '../elements.ts'
import type { ConsentFault } from '../outcomes.ts'
import { actorsOf, isAmong, recipientsOf } from './actors.ts'

/**
 * Labels of sensitive data, as `system|code` of `meta.security`. `unknown`: the payer has not decided what is sensitive. `none`: it stores
 * nothing sensitive.
 */
export type SensitiveLabels = 'unknown' | 'none' | readonly string[]

/** Circumstances in which a Consent is judged. `recipient`: identifiers of the partner. `payer`: those of this payer. */
export type ConsentContext = {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly timeZone?: string
  readonly recipient: readonly PartyIdentifier[]
  readonly payer: readonly PartyIdentifier[]
  readonly sensitiveLabels: SensitiveLabels
}

/**
 * Verdict on a Consent. `until`: instant at which its permission ends, in milliseconds since 1970; absent: never. `excluded`: labels of data
 * that it does not permit.
 */
export type ConsentVerdict =
  | { readonly isCompliedWith: true; readonly until?: number; readonly excluded: readonly string[] }
  | { readonly isCompliedWith: false; readonly fault: ConsentFault }

type Provision = { readonly consent: Resource; readonly provision: Element }

const RULES: readonly (readonly [fault: ConsentFault, holds: (parts: Provision, context: ConsentContext) => boolean])[] = [
  ['status', ({ consent }) => consent.status === 'active'],
  ['scope', ({ consent }) => hasCode(consent.scope, PATIENT_PRIVACY)],
  ['category', ({ consent }) => haveCode(consent.category, INFORMATION_DISCLOSURE)],
  ['provision-type', ({ provision }) => provision.type === 'permit'],
  ['period', ({ provision: { period } }, { now, timeZone }) => period !== undefined && covers(period, now, timeZone)],
  ['recipient', ({ consent }, { recipient }) => isAmong(recipientsOf(consent), recipient)],
  ['source', ({ consent }, { payer }) => isAmong(actorsOf(consent, SOURCE), payer)],
  ['policy', ({ consent }) => policiesOf(consent).length === 1],
  ['narrower-provision', ({ consent, provision }) => !isNarrower(consent, provision)],
  ['sensitive-labels', ({ consent }, { sensitiveLabels }) => isSensitivePermitted(consent) || sensitiveLabels !== 'unknown'],
]

/** Judges a Consent between payers. The first rule that it breaks is its fault. */
export function judgePayerConsent(consent: Resource, context: ConsentContext): ConsentVerdict {
  const provision = isElement(consent.provision) ? consent.provision : {}
  const broken = RULES.find(([, holds]) => !holds({ consent, provision }, context))
  // guard: broken-consent-permits-nothing
  if (broken !== undefined) return { isCompliedWith: false, fault: broken[0] }
  const until = endOf(provision.period, context.timeZone)
  const { sensitiveLabels } = context
  const excluded = isSensitivePermitted(consent) || typeof sensitiveLabels === 'string' ? [] : sensitiveLabels
  return { isCompliedWith: true, excluded, ...(until === undefined ? {} : { until }) }
}

/** `recipient`: absent for a client of this payer; the recipient in the Consent applies instead. `longest`: in milliseconds. */
type SentConsentContext = Omit<ConsentContext, 'recipient'> & { readonly recipient?: readonly PartyIdentifier[]; readonly longest: number }

const judgeSentConsent = (consent: Resource, { recipient = recipientsOf(consent), ...context }: SentConsentContext): ConsentVerdict =>
  judgePayerConsent(consent, { ...context, recipient })

/**
 * Returns the instant until which the Consent permits the disclosure, at most `longest` milliseconds from now, or undefined if it does not.
 */
export function permissionOf(consent: Resource, context: SentConsentContext): number | undefined {
  const verdict = judgeSentConsent(consent, context)
  return verdict.isCompliedWith ? Math.min(verdict.until ?? Number.POSITIVE_INFINITY, context.now + context.longest) : undefined
}

/** Returns the rule that the Consent breaks, or undefined if it permits the disclosure. */
export function consentFaultOf(consent: Resource, context: SentConsentContext): ConsentFault | undefined {
  const verdict = judgeSentConsent(consent, context)
  return verdict.isCompliedWith ? undefined : verdict.fault
}

const policiesOf = ({ policy }: Resource): readonly unknown[] => [
  ...new Set(
    itemsOf(policy)
      .map(({ uri }) => uri)
      .filter((uri) => uri === REGULAR_POLICY || uri === SENSITIVE_POLICY),
  ),
]

const isSensitivePermitted = (consent: Resource): boolean => policiesOf(consent).includes(SENSITIVE_POLICY)

/** Elements that HRex prohibits, because only the policy says what may be disclosed. Complying with the policy alone would disclose more. */
const NARROWING = ['securityLabel', 'purpose', 'class', 'code', 'dataPeriod', 'data', 'provision', 'modifierExtension']

const isNarrower = (consent: Resource, provision: Element): boolean =>
  consent.modifierExtension !== undefined ||
  NARROWING.some((name) => provision[name] !== undefined) ||
  (provision.action !== undefined && !haveCode(provision.action, DISCLOSE))
