/**
 * Parses the input of an operation: a resource, or its Parameters. GET and an empty POST have no input.
 * https://hl7.org/fhir/R4/operations.html
 */
import { isElement } from '../../fhir/resource.ts'
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseInput: Step = {
  before({ event: exchange }) {
    const { http, fhir, interaction } = exchange
    if (http.method !== 'POST' || http.body.length === 0) return
    exchange.fhir = { ...fhir, resource: resourceOf(exchange, interaction === 'apply-fhirpath' ? withType : undefined) }
  },
}

/** Completes Parameters of $apply-fhirpath: published examples lack `resourceType`, or spell it `ResourceType`. */
function withType(tree: unknown): unknown {
  if (!isElement(tree) || tree.resourceType !== undefined || !Array.isArray(tree.parameter)) return tree
  const { ResourceType: misspelt, ...parameters } = tree
  return misspelt === undefined || misspelt === 'Parameters' ? { resourceType: 'Parameters', ...parameters } : tree
}
