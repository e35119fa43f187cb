/**
 * Search parameters somebody defines by a SearchParameter resource. https://hl7.org/fhir/R4/searchparameter.html
 *
 * The fields of one are named by what it means, so that documents extracted under another meaning of the same code are never mixed in.
 */
import { createHash } from 'node:crypto'
import { R4 } from '../fhir/definitions/r4.ts'
import { type FhirError, fhirError } from '../fhir/outcome.ts'
import { type Branch, withoutCompanions } from '../fhir/path/branch.ts'
import { compiler } from '../fhir/path/compile.ts'
import type { Resource } from '../fhir/resource.ts'
import { isResourceType, resourceTypes } from '../fhir/resource-types.ts'
import { type CustomMapping, searchParameter } from './parameters.ts'

const TYPES: ReadonlySet<string> = new Set(['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity'])

const fhirpath = compiler(R4)

/**
 * What an active SearchParameter adds: one mapping for each of its types. Nothing where it is not active, or says what R4 says already.
 * FhirError 422 with the reason: no expression, one that cannot be understood or has no values on the type, a type of parameter that is
 * not searched by.
 */
export function customMappings(definition: Resource, tenant: string): readonly CustomMapping[] {
  const { status, code, type, url, base, expression, target } = definition as {
    readonly status?: unknown
    readonly code?: unknown
    readonly type?: unknown
    readonly url?: unknown
    readonly base?: unknown
    readonly expression?: unknown
    readonly target?: unknown
  }
  if (status !== 'active') return []
  if (typeof code !== 'string' || !/^[A-Za-z_][\w-]{0,63}$/.test(code))
    throw refused('A code is a letter, then letters, digits, - and _', 'code')
  if (typeof type !== 'string' || !TYPES.has(type)) throw refused(`Parameters of type ${String(type)} cannot be added`, 'type')
  if (typeof expression !== 'string') throw refused('A parameter that is added has an expression', 'expression')
  const targets = Array.isArray(target) ? target.map(String) : ['*']
  return basesOf(base).flatMap((base): readonly CustomMapping[] => {
    // A parameter of R4 stays what it is.
    if (searchParameter(base, code) !== undefined) return []
    const address = typeof url === 'string' ? url : ''
    const meaning = JSON.stringify([tenant, address, type, expression, targets])
    const field = `${code}~${createHash('sha256').update(meaning).digest('hex').slice(0, 8)}`
    return [
      {
        base,
        field,
        code,
        type,
        url: address,
        expression,
        ...(type === 'reference' ? { targets } : {}),
        values: branchesOf(expression, base),
      },
    ]
  })
}

/** The types on which R4 has a parameter of this code already: there it stays what it is. */
export function definedByR4({ status, code, base }: Resource): readonly string[] {
  if (status !== 'active' || typeof code !== 'string' || !Array.isArray(base)) return []
  return base.map(String).filter((type) => isResourceType(type) && searchParameter(type, code) !== undefined)
}

function basesOf(base: unknown): readonly string[] {
  const bases = Array.isArray(base) ? base.map(String) : []
  const every = bases.some((each) => each === 'Resource' || each === 'DomainResource')
  const unknown = bases.find((each) => !isResourceType(each) && each !== 'Resource' && each !== 'DomainResource')
  if (bases.length === 0 || unknown !== undefined) throw refused(`${unknown ?? 'Nothing'} is no resource type to search on`, 'base')
  return every ? resourceTypes : bases
}

function branchesOf(expression: string, base: string): readonly Branch[] {
  let branches: readonly Branch[]
  try {
    branches = fhirpath.branches(expression, base)
  } catch (error) {
    throw refused(`The expression cannot be used on ${base}: ${(error as Error).message}`, 'expression')
  }
  if (branches.length === 0) throw refused(`The expression has no values on ${base}`, 'expression')
  return branches.map(withoutCompanions)
}

const refused = (text: string, element: string): FhirError => fhirError(422, 'invalid', text, `SearchParameter.${element}`)
