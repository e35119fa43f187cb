/** Names of FHIR after their articles. */
import { expect, it } from '@jest/globals'
import { withArticle } from '../../lambdas/fhir/article.ts'

it.each(['a Patient', 'an Observation', 'an Account', 'an identifier', 'an Encounter', 'a uri', 'a UsageContext'])('returns %s', (text) => {
  expect(withArticle(text.split(' ')[1]!)).toBe(text)
})
