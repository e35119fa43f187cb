/** Bindings to value sets. https://hl7.org/fhir/R4/terminologies.html#strength */
import type { Issue } from '../../outcome.ts'
import { type Element, isElement } from '../../resource.ts'
import { type CheckContext, report } from '../check-context.ts'
import { clipText } from '../clipped-text.ts'
import type { Binding } from '../definition.ts'
import type { Item } from '../items.ts'
import { hasWrongCheckDigit } from '../rule-based-systems.ts'
import { type Membership, valueSetMembershipOf } from '../value-set.ts'

type Severity = Issue['severity']

const SEVERITY: Readonly<Record<Binding['strength'], Severity>> = { required: 'error', extensible: 'warning', preferred: 'information' }

export function checkBinding({ strength, valueSet, max }: Binding, item: Item, type: string, check: CheckContext): void {
  if (valueSet !== undefined) checkMembership(valueSet, SEVERITY[strength], item, type, check)
  if (max !== undefined) checkMembership(max, 'error', item, type, check)
}

function checkMembership(canonical: string, severity: Severity, { value }: Item, type: string, check: CheckContext): void {
  const reasons = new Set<string>()
  const found = membershipOf(value, canonical, { ...check, reasons })
  const rule = `binding ${versionedUrl(canonical, check)}`
  if (found === 'out') report(check, 'code-invalid', rule, `The code is not in the value set ${clipText(canonical)}`, severity)
  else if (found === 'unknown')
    check.faults.reportOnce(
      check.library.isRetired?.(canonical) ? 'warning' : 'information',
      'not-supported',
      rule,
      `Whether the code is in the value set ${clipText(canonical)} is not known: ${[...reasons].join('; ')}`,
    )
  else if (found === 'none' && severity === 'error' && type === 'CodeableConcept' && isElement(value) && value.extension === undefined)
    report(check, 'code-invalid', rule, `A coding of the value set ${clipText(canonical)} is required`, severity)
}

/** Returns one name per value set, so that canonical URLs with and without version report one issue. */
function versionedUrl(canonical: string, { library }: CheckContext): string {
  const { url, version } = library.valueSet(canonical) ?? { url: canonical }
  return version === undefined ? url : `${url}|${version}`
}

/**
 * Warns if a rule rejects a code: UCUM, languages and currencies by their syntax or list, LOINC and SNOMED CT by check digit. Independent
 * of any binding.
 */
export function checkCode({ system, code }: Element, { library, faults }: CheckContext): void {
  if (typeof system !== 'string' || typeof code !== 'string') return
  if (library.isCode?.(system, code) === false)
    faults.report('warning', 'code-invalid', 'code', `There is no such code in the code system ${system}`)
  else if (hasWrongCheckDigit(system, code))
    faults.report('warning', 'code-invalid', 'code', `The check digit of the code is wrong: it is not one of the code system ${system}`)
}

/**
 * Returns the membership of a code, Coding, CodeableConcept or Quantity in a value set. One member among several codings is enough. `none`:
 * the value has no code.
 */
export function membershipOf(value: unknown, canonical: string, { library, work, reasons }: BindingContext): Membership | 'none' {
  const memberOf = (system: string | undefined, code: string): Membership =>
    valueSetMembershipOf(canonical, { system, code, terminology: library, work, ...(reasons === undefined ? {} : { reasons }) })
  if (typeof value === 'string') return memberOf(undefined, value)
  if (!isElement(value)) return 'none'
  const codings = 'coding' in value ? elementsIn(value.coding) : [value]
  const each = codings.flatMap(({ system, code }) =>
    typeof code !== 'string' ? [] : [memberOf(typeof system === 'string' ? system : '', code)],
  )
  if (each.length === 0) return 'none'
  return each.includes('in') ? 'in' : each.includes('unknown') ? 'unknown' : 'out'
}

type BindingContext = Pick<CheckContext, 'library' | 'work'> & { readonly reasons?: Set<string> }

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
