/** Checks the types and elements that a kick-off names against what the export may hold. */
import { fhirError } from '../../fhir/outcome.ts'
import { isRootElement } from '../../fhir/summary.ts'
import { type ExportLevel, type ExportRequest, GROUP_TYPES_SETTING, ignoreOrReject, type RequestedElement } from '../export-request.ts'
import { omittedTypesOf, possibleTypesOf, type TypeSettings } from './exported-types.ts'

/** Returns the request. With lenient handling it drops wrong names and reports them in `passedOver`. Otherwise it throws FhirError 400. */
export function checkExportRequest(request: ExportRequest, level: ExportLevel, lenient: boolean, settings: TypeSettings): ExportRequest {
  const passedOver = [...request.passedOver]
  const without = <Name>(names: readonly Name[], isValid: (name: Name) => boolean, text: (name: Name) => string): readonly Name[] =>
    names.filter((name) => {
      if (isValid(name)) return true
      ignoreOrReject({ passedOver }, lenient, fhirError(400, 'value', text(name)))
      return false
    })
  const omitted = omittedTypesOf(level, settings)
  const types = request.types && without(request.types, (type) => !omitted.includes(type), omittedText)
  const exported = [...possibleTypesOf(level, settings)].filter((type) => types?.includes(type) ?? true)
  // Patients that an exported resource refers to are exported regardless of _type. Specification 4.5
  if (level !== 'system') exported.push('Patient')
  const elements = without(request.elements, (each) => exported.some((type) => isElementOf(each, type)), elementText)
  return { ...request, ...(types === undefined ? {} : { types }), elements, passedOver }
}

const nameOf = ({ type, element }: RequestedElement): string => (type === undefined ? element : `${type}.${element}`)

const isElementOf = (requested: RequestedElement, type: string): boolean => isRootElement(nameOf(requested), type)

const elementText = (requested: RequestedElement): string =>
  `_elements names ${nameOf(requested)}, which is an element of no type of this export`

const omittedText = (type: string): string =>
  `_type names ${type}, which exports of a Group leave out. The setting ${GROUP_TYPES_SETTING} adds it; all stands for the whole Patient compartment`
