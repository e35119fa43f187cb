/** Generates the paths by which resources belong to compartments. https://hl7.org/fhir/R4/compartmentdefinition.html */
import type { CompartmentPaths } from '../../lambdas/fhir/compartment.ts'
import type { Branch } from '../../lambdas/fhir/path/branch.ts'
import type { Mapping } from '../mapping.ts'
import { readCompartmentDefinitions } from './hl7.ts'

export function generateCompartments(parameters: ReadonlyMap<string, readonly Mapping[]>): CompartmentPaths {
  const found: Record<string, Record<string, string[]>> = {}
  for (const { code: compartment, resource } of readCompartmentDefinitions()) {
    for (const { code: type, param = [] } of resource) {
      for (const branch of param.flatMap((code) => valuesOf(parameters, type, code))) {
        const path = pathOf(branch)
        if (!mayReferTo(branch, compartment)) continue
        found[type] ??= {}
        found[type][path] = [...new Set([...(found[type][path] ?? []), compartment])]
      }
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([type, paths]) => [
      type,
      Object.entries(paths).map(([path, names]) => ({ path: path.split('.'), compartments: names })),
    ]),
  )
}

/** Returns the reference branches of a parameter. Throws Error if it is unknown. `{def}`, which defines the compartment, has none. */
function valuesOf(parameters: ReadonlyMap<string, readonly Mapping[]>, type: string, code: string): readonly Branch[] {
  if (code === '{def}') return []
  const parameter = parameters.get(type)?.find((mapping) => mapping.code === code)
  if (parameter === undefined) throw new Error(`${type} has no search parameter ${code}`)
  return parameter.values.filter(([valueType]) => valueType === 'Reference')
}

function pathOf([, ...steps]: Branch): string {
  const names = steps.filter((step) => typeof step === 'string')
  if (steps.some((step) => typeof step !== 'string' && !isTypeTest(step))) throw new Error(`Not a path: ${JSON.stringify(steps)}`)
  return names.join('.')
}

const isTypeTest = (step: Branch[number]): boolean =>
  Array.isArray(step) && step[0] === 'where' && Array.isArray(step[1]) && step[1][0] === 'refers'

const mayReferTo = ([, ...steps]: Branch, type: string): boolean =>
  steps.every((step) => typeof step === 'string' || (Array.isArray(step[1]) && step[1][1] === type))
