/** Indefinite articles before names of FHIR types and elements. */
import { expect, it } from '@jest/globals'
import { withArticle } from '../../lambdas/fhir/article.ts'

it.each(['a Patient', 'an Observation', 'an Account', 'an identifier', 'an Encounter', 'a uri', 'a UsageContext'])(
  'returns the name with its article: %s',
  (text) => {
    expect(withArticle(text.split(' ')[1]!)).toBe(text)
  },
)
