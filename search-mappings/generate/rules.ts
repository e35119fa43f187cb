/** Adds the rules of this project, files in search-mappings/rules, to those of a package. https://hl7.org/fhir/R4/elementdefinition.html */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProfileElement } from '../../lambdas/fhir/profile/definition.ts'
import type { Package } from '../../lambdas/fhir/profile/definitions/package-files.ts'

/** Canonical URL of a profile → elements that are appended to its own. */
type Rules = Readonly<Record<string, readonly ProfileElement[]>>

/** Returns the package with its rules. Throws Error if a rule is for a profile that the package lacks. */
export function withRules(content: Package): Package {
  const file = join(import.meta.dirname, `../rules/${content.name}-${content.version}.json`)
  const rules: Rules = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const profileUrls = new Set(Object.values(content.profiles).flatMap((profiles) => Object.keys(profiles)))
  for (const canonical of Object.keys(rules)) if (!profileUrls.has(canonical)) throw new Error(`${canonical} is not in ${content.name}`)
  const laidOver = (profiles: Package['profiles'][string]): Package['profiles'][string] =>
    Object.fromEntries(
      Object.entries(profiles).map(([url, profile]) => [url, { ...profile, elements: [...profile.elements, ...(rules[url] ?? [])] }]),
    )
  return { ...content, profiles: Object.fromEntries(Object.entries(content.profiles).map(([type, file]) => [type, laidOver(file)])) }
}
