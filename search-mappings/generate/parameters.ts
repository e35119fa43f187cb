/** Generates search parameters with compiled expressions, by resource type. https://hl7.org/fhir/R4/searchparameter.html */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutCompanions } from '../../lambdas/fhir/path/branch.ts'
import type { Compiler } from '../../lambdas/fhir/path/compile.ts'
import type { ComponentMapping, Mapping } from '../mapping.ts'
import { readSearchParameters, type SearchParameterResource } from './hl7.ts'

/** Start of the keys in CORRECTED. R4 swapped the expressions of the two components of DocumentReference's `relationship`. */
const RELATIONSHIP = 'http://hl7.org/fhir/SearchParameter/DocumentReference-rel'
const CORRECTED: Readonly<Record<string, string>> = {
  [`${RELATIONSHIP}ationship ${RELATIONSHIP}atesto`]: 'target',
  [`${RELATIONSHIP}ationship ${RELATIONSHIP}ation`]: 'code',
}

/**
 * Returns the mappings by resource type. `Resource` holds the parameters of every type. Leaves out parameters without an expression, or
 * with one that matches nothing.
 */
export function generateSearchParameters(resourceTypes: readonly string[], fhirpath: Compiler): ReadonlyMap<string, readonly Mapping[]> {
  const all = [...readSearchParameters(), ...parametersOfPackages()]
  const byUrl = new Map(all.map((parameter) => [parameter.url, parameter]))
  return new Map(
    ['Resource', ...resourceTypes].map((type) => {
      const overridden = overridesOf(type)
      const mappings = all
        .filter((parameter) => parameter.base?.includes(type))
        .map((parameter) => ({ ...parameter, expression: overridden[parameter.code] ?? parameter.expression }))
        .flatMap((parameter) => mappingOf(parameter, type, { byUrl, fhirpath, everyType: resourceTypes.length }))
      return [type, mappings.sort((a, b) => (a.code < b.code ? -1 : 1))]
    }),
  )
}

/** Returns the parameters that committed packages add to R4. generate-package.ts creates the files. */
function parametersOfPackages(): readonly SearchParameterResource[] {
  const folder = join(import.meta.dirname, '../packages')
  return readdirSync(folder)
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly SearchParameterResource[])
}

/** Returns the replacements for expressions of HL7 that are unusable as published: code → expression. */
function overridesOf(type: string): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, '../overrides', `${type}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {}
}

type Context = { readonly byUrl: ReadonlyMap<string, SearchParameterResource>; readonly fhirpath: Compiler; readonly everyType: number }

function mappingOf(
  { code, type, url, expression, target, component = [] }: SearchParameterResource,
  base: string,
  context: Context,
): readonly Mapping[] {
  if (expression === undefined) return []
  const values = context.fhirpath.branches(expression, base).map(withoutCompanions)
  if (values.length === 0) return []
  const ownExpression = own(expression, base)
  const components = component.map(({ definition, expression }): ComponentMapping => {
    const part = CORRECTED[`${url} ${definition}`] ?? expression
    const { code: name, type: kind, target: to } = context.byUrl.get(definition)!
    const starts = [...new Set(values.map(([start]) => start))]
    const branchesByStart = starts.map((start) => [start, context.fhirpath.branches(part, start).map(withoutCompanions)] as const)
    return {
      code: name,
      type: kind,
      url: definition,
      expression: part,
      ...targetsOf(to, context),
      values: Object.fromEntries(branchesByStart),
    }
  })
  return [
    {
      code,
      type,
      url,
      expression: ownExpression,
      ...targetsOf(target, context),
      values,
      ...(components.length === 0 ? {} : { components }),
    },
  ]
}

const targetsOf = (target: readonly string[] | undefined, { everyType }: Context): { targets?: readonly string[] } => {
  if (target === undefined) return {}
  // HL7's list of all types lacks Parameters, which is never stored.
  return { targets: target.length >= everyType - 1 ? ['*'] : [...target].sort() }
}

/** Returns the part of an expression for this type, or all of it if no part names the type. */
function own(expression: string, base: string): string {
  const parts = expression.split(' | ')
  const ownParts = parts.filter((part) => part === base || part.replace(/^\(/, '').startsWith(`${base}.`))
  return ownParts.length === 0 ? expression : ownParts.join(' | ')
}
