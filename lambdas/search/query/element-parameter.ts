/** Finds search parameters by the name of an element, as `_group` uses it: `birthDate`, `effectiveDateTime`, `Observation.code`. */
import { fhirError } from '../../fhir/outcome.ts'
import { isRootElement } from '../../fhir/summary.ts'
import { parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import { isSearchable } from './criterion.ts'

/**
 * Returns the search parameter whose whole expression is the element, or the choice element to which it belongs. Returns undefined if there
 * is none. Throws FhirError 400 if there are several.
 */
export function findElementParameter(type: string, element: string, custom: SearchContext['custom']): SearchParameter | undefined {
  const path = element.replace(/^[A-Z][A-Za-z]*\./, (prefix) => (prefix === `${type}.` ? '' : prefix)).replace(/\[x\]$/, '')
  const found = parametersOf(type, custom).filter((each) => isSearchable(each) && isElement(each, path, type))
  const codes = [...new Set(found.map(({ code }) => code))]
  if (codes.length > 1)
    throw fhirError(400, 'value', `The element ${path} has several search parameters. Name one of them: ${codes.join(', ')}`)
  return found[0]
}

/** Matches an operand of an expression: `Type.path`, `(Type.path as FhirType)` or `Type.path.ofType(FhirType)`. */
const BRANCH = /^\(?(?:[A-Z]\w*)\.([a-z]\w*(?:\.[a-z]\w*)*?)(?: as (\w+)|\.(?:as|ofType)\((\w+)\))?\)?$/

function isElement({ expression, valueTypes }: SearchParameter, path: string, type: string): boolean {
  const branches = expression.split('|').map((branch) => BRANCH.exec(branch.trim()))
  const [, whole] = branches[0] ?? []
  if (whole === undefined || branches.some((branch) => branch?.[1] !== whole)) return false
  if (path === whole) return true
  const types = branches.map((branch) => branch![2] ?? branch![3])
  const forms = types.every((each) => each === undefined) ? valueTypes : types
  return forms.some((form) => form !== undefined && path === whole + capitalized(form)) && isRootElement(path, type)
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
