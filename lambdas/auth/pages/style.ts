/**
 * Colors and fonts of this server (`smart_style_url`), which apps may adopt.
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#styling
 */
import { CACHEABLE_HEADERS, type Endpoint } from '../endpoint.ts'
import { jsonResponse } from '../oauth-error.ts'

const STYLE = {
  color_background: '#ffffff',
  color_error: '#a40e26',
  color_highlight: '#0550ae',
  color_modal_backdrop: '#1b1f24',
  color_success: '#1a7f37',
  color_text: '#1b1f24',
  dim_border_radius: '6px',
  dim_font_size: '16px',
  dim_spacing_size: '16px',
  font_family_body: 'system-ui, sans-serif',
  font_family_heading: 'system-ui, sans-serif',
}

export const style: Endpoint = async () => jsonResponse(200, STYLE, CACHEABLE_HEADERS)
