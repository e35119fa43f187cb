/** Uri parameters. https://hl7.org/fhir/R4/search.html#uri */
import { or } from '../../ports/search/plan.ts'
import { canonicalSortKeyOf } from '../canonical.ts'
import { namesOf } from '../fields.ts'
import { keyPrefixPredicate, malformedValueError, type SearchType, unescapeValue } from './search-type.ts'

const MAX_ANCESTORS = 64

export const uri: SearchType = {
  modifiers: ['below', 'above'],
  maxFields: 5,
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values, resource) => {
      for (const { value } of values) {
        if (typeof value !== 'string') continue
        const [url = '', version] = value.split('|', 2)
        fields.key(field, value)
        fields.group(names, value)
        if (version !== undefined) fields.key(field, url)
        // A definition has its version in an element beside `url`, not in the value.
        const own = value === resource.url && typeof resource.version === 'string' ? resource.version : undefined
        fields.sort(field, canonicalSortKeyOf(url, version ?? own))
      }
    }
  },
  lower(parameter, value, modifier) {
    const { field } = parameter
    const text = unescapeValue(value)
    if (text === '') throw malformedValueError(parameter, 'a URI')
    if (modifier === 'below')
      return or({ kind: 'key', field, oneOf: [text] }, keyPrefixPredicate(field, text.endsWith('/') ? text : `${text}/`))
    return { kind: 'key', field, oneOf: modifier === 'above' ? ancestorsOf(text) : [text] }
  },
}

/** Returns the URI and its ancestors, for `:above`: `http://a/b/c` → itself, `http://a/b/`, `http://a/b`, `http://a/`, `http://a`. */
function ancestorsOf(text: string): readonly string[] {
  const found = [text]
  const root = text.indexOf('//') + 2
  for (let at = text.lastIndexOf('/'); at >= root && found.length < MAX_ANCESTORS; at = text.lastIndexOf('/', at - 1))
    found.push(text.slice(0, at + 1), text.slice(0, at))
  return found
}
