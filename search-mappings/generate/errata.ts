/**
 * Errata of R4's extensions. HL7's own definitions use these extensions outside of their published contexts. `Pack` means
 * `hl7.fhir.uv.extensions.r5` 1.0.0, where HL7 corrected the same extensions. https://hl7.org/fhir/extensions/1.0.0/
 */
import type { Resource } from '../../lambdas/fhir/resource.ts'

export type Erratum = {
  readonly name: string
  /** Elements that the contexts of the published definition lack. */
  readonly contexts: readonly string[]
  /** Removes the invariant of the context, because the published one is wrong. */
  readonly isWithoutInvariant?: true
  readonly source: string
}

const CAPABILITIES = [
  ...['format', 'implementationGuide', 'imports', 'instantiates', 'patchFormat'],
  ...['rest.interaction.code', 'rest.interaction.documentation', 'rest.security', 'rest.security.cors', 'rest.security.service'],
  ...['rest.resource', 'rest.resource.extension', 'rest.resource.operation', 'rest.resource.profile', 'rest.resource.supportedProfile'],
  ...['conditionalCreate', 'conditionalDelete', 'conditionalRead', 'conditionalUpdate'].map((name) => `rest.resource.${name}`),
  ...['readHistory', 'referencePolicy', 'updateCreate', 'versioning'].map((name) => `rest.resource.${name}`),
].map((name) => `CapabilityStatement.${name}`)

/** Types of R4 that have a url, and that extend CanonicalResource in R5. */
const CANONICAL = [
  ...['ActivityDefinition', 'CapabilityStatement', 'ChargeItemDefinition', 'CodeSystem', 'CompartmentDefinition', 'ConceptMap'],
  ...['EffectEvidenceSynthesis', 'EventDefinition', 'Evidence', 'EvidenceVariable', 'ExampleScenario', 'GraphDefinition'],
  ...['ImplementationGuide', 'Library', 'Measure', 'MessageDefinition', 'OperationDefinition', 'PlanDefinition', 'Questionnaire'],
  ...['ResearchDefinition', 'ResearchElementDefinition', 'RiskEvidenceSynthesis', 'SearchParameter', 'StructureMap'],
  ...['TerminologyCapabilities', 'TestScript', 'ValueSet'],
]

export const ERRATA: readonly Erratum[] = [
  {
    name: 'structuredefinition-fhir-type',
    contexts: ['ElementDefinition.type'],
    source: 'Pack: ElementDefinition.type. Every StructureDefinition of R4 has it there, on the type of `id`.',
  },
  {
    name: 'structuredefinition-normative-version',
    contexts: [...CANONICAL, 'ElementDefinition'],
    source: 'Pack: CanonicalResource, ElementDefinition. The normative ValueSets, CodeSystems and OperationDefinitions of R4 have it.',
  },
  {
    name: 'regex',
    contexts: ['ElementDefinition.type'],
    source: 'R4 states the pattern of each primitive on the type of its value: https://hl7.org/fhir/R4/id.profile.json.html',
  },
  {
    name: 'valueset-concept-comments',
    contexts: ['CodeSystem.concept'],
    source: 'Code systems of R4 have it on concepts, for example https://hl7.org/fhir/R4/codesystem-dicom-dcim.json.html',
  },
  {
    name: 'capabilitystatement-expectation',
    contexts: [...CAPABILITIES, ...['comparator', 'multipleOr', 'multipleAnd', 'chain'].map((name) => `SearchParameter.${name}`)],
    source:
      'Pack, and on SearchParameter US Core 6.1.0: https://hl7.org/fhir/us/core/STU6.1/SearchParameter-us-core-patient-birthdate.json.html',
  },
  {
    name: 'questionnaire-displayCategory',
    contexts: [],
    isWithoutInvariant: true,
    source: 'The invariant of R4 allows it on all but what it is for, displayed items. The pack has the opposite invariant.',
  },
]

const BASE = 'http://hl7.org/fhir/StructureDefinition/'
const ERRATA_BY_URL: ReadonlyMap<unknown, Erratum> = new Map(ERRATA.map((erratum) => [`${BASE}${erratum.name}`, erratum]))

/** Returns the definition with its erratum applied, or unchanged if there is none. */
export function applyErratum(definition: Resource): Resource {
  const erratum = ERRATA_BY_URL.get(definition.url)
  if (erratum === undefined) return definition
  const { contexts, isWithoutInvariant } = erratum
  return {
    ...definition,
    context: [...(definition.context as readonly object[]), ...contexts.map((expression) => ({ type: 'element', expression }))],
    ...(isWithoutInvariant ? { contextInvariant: [] } : {}),
  }
}
