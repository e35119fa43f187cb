/** Search types by parameter type. The server cannot search by parameters of other types. */
import type { ParameterType } from '../parameters.ts'
import { composite } from './composite.ts'
import { date } from './date.ts'
import { number } from './number.ts'
import { quantity } from './quantity.ts'
import { reference } from './reference.ts'
import type { SearchType } from './search-type.ts'
import { special } from './special.ts'
import { string } from './string.ts'
import { token } from './token.ts'
import { uri } from './uri.ts'

const SINGLE: Readonly<Partial<Record<ParameterType, SearchType>>> = { token, string, date, reference, uri, number, quantity, special }

export const SEARCH_TYPES: Readonly<Partial<Record<ParameterType, SearchType>>> = {
  ...SINGLE,
  composite: composite((type) => SINGLE[type]),
}
