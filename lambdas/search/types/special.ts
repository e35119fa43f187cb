/** Special parameter `near` of Location. https://hl7.org/fhir/R4/location.html#positional */
import { isElement } from '../../fhir/resource.ts'
import { numberOf } from './number.ts'
import { malformedValueError, type SearchType, splitValue } from './search-type.ts'

/** Distance of a value without one, in the unit of the value. Without a unit: kilometres. */
const DEFAULT_DISTANCE = 50
/** Metres per unit of a `near` value. */
const UNITS: Readonly<Record<string, number>> = { km: 1000, '[mi_us]': 1609.3472186944375, m: 1 }

export const special: SearchType = {
  modifiers: [],
  maxFields: 2,
  extractor:
    ({ field }) =>
    (fields, values) => {
      for (const { value } of values) {
        if (!isElement(value)) continue
        const latitude = numberOf(value.latitude)
        const longitude = numberOf(value.longitude)
        if (latitude !== undefined && longitude !== undefined && isPosition(latitude, longitude)) fields.point(field, latitude, longitude)
      }
    },
  lower(parameter, value) {
    const circle = circleOf(value)
    if (circle === undefined)
      throw malformedValueError(parameter, 'of the form latitude|longitude|distance|units, with units km, m or [mi_us]')
    return { kind: 'near', field: parameter.field, ...circle }
  },
}

type Circle = { readonly latitude: number; readonly longitude: number; readonly metres: number }

/** Parses a value of `near`. Returns undefined if it is malformed. */
export function circleOf(value: string): Circle | undefined {
  const [latitude = '', longitude = '', distance = '', units = ''] = splitValue(value, '|')
  const unit = UNITS[units === '' ? 'km' : units]
  const far = distance === '' ? DEFAULT_DISTANCE : Number(distance)
  const [y, x] = [Number(latitude), Number(longitude)]
  const isNumber = latitude.trim() !== '' && longitude.trim() !== ''
  if (unit === undefined || !isNumber || !isPosition(y, x) || !(far >= 0) || !Number.isFinite(far)) return undefined
  return { latitude: y, longitude: x, metres: far * unit }
}

const isPosition = (latitude: number, longitude: number): boolean => Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
