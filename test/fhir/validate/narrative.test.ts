/** Narratives: XHTML with the entities of XML, without active content. https://hl7.org/fhir/R4/narrative.html */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'

const patient = (content: string) => ({
  resourceType: 'Patient',
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${content}</div>` },
})

const found = (content: string) => validate(patient(content)).map(({ severity, expression, text }) => [severity, expression, text])

const fault = (text: string) => [['error', 'Patient.text.`div`', expect.stringContaining(text)]]

/** HAPI's validator 8.8.1 refuses these too: `Invalid entity in the XHTML ('&nbsp;')`, `unable to parse character reference 'foo'`. */
describe('references', () => {
  it.each(['&nbsp;', '&copy;', '&foo;', 'a & b', '&;', '&amp', '&AMP;', '&#0;', '&#x110000;', '&#1114112;', '&#xZZ;', '&#;'])(
    'are refused in text and attributes unless XML has them: %s',
    (reference) => {
      expect(found(`x${reference}`)).toEqual(fault('has the entities &amp; &lt; &gt; &quot; &apos; only'))
      expect(found(`<p title="${reference}">x</p>`)).toEqual(fault('has the entities'))
    },
  )

  it.each(['&amp;', '&lt;&gt;&quot;&apos;', '&#160;', '&#xA0;', '&#0000000160;', '&#x1F600;', '<!-- a & b &nbsp; -->x'])(
    'are accepted: %s',
    (reference) => {
      expect(found(`x ${reference}`)).toEqual([])
    },
  )
})

describe('active content', () => {
  it.each([
    ['href', 'javascript:alert(1)'],
    ['href', 'JaVaScRiPt:alert(1)'],
    ['href', ' \t javascript:alert(1)'],
    ['href', '&#1;javascript:alert(1)'],
    ['href', '&#106;avascript&#x3A;alert(1)'],
    ['href', '&#0000000106;avascript:alert(1)'],
    ['href', 'java&#9;scr&#xA;ipt:alert(1)'],
    ['href', 'vbscript:msgbox(1)'],
    ['href', 'data:text/html;base64,PHNjcmlwdD4='],
    ['href', 'DATA: text/HTML,x'],
    ['src', 'javascript:alert(1)'],
    ['src', 'data:text/html,x'],
    ['longdesc', 'javascript:alert(1)'],
    ['style', 'background: url(javascript:alert(1))'],
    ['style', 'background: url(&#34;JAVA&#83;CRIPT:alert(1)&#34;)'],
    ['style', 'background: url(\\6a avascript:alert(1))'],
    ['style', 'background: url(\\00006Aavascript\\:alert(1))'],
    ['style', 'background: url(data:text/html,x)'],
  ])('is refused in %s: %s', (attribute, value) => {
    const text = `javascript:, vbscript: and data:text/html are not allowed in the ${attribute} of a narrative`
    expect(found(`<img alt="x" ${attribute}="${value}"/>`)).toEqual(fault(text))
    expect(found(`<img alt='x' ${attribute} = '${value}'/>`)).toEqual(fault(text))
  })

  it.each([
    '<a href="http://example.org/x?a=1&amp;b=javascript:">x</a>',
    '<a href="https://example.org/data:text/html">x</a>',
    '<a href="#javascript">x</a>',
    '<a href="mailto:x@example.org">x</a>',
    '<img src="https://example.org/x.png" alt="x"/>',
    '<img src="data: image/png;base64,iVBORw0KGgo=" alt="x"/>',
    '<p title="javascript: the language" style="background-image: url(data:image/png;base64,iVBORw0KGgo=)">javascript:</p>',
  ])('is not found in harmless content: %s', (content) => {
    expect(found(content)).toEqual([])
  })
})
