/** `/docs`: the OpenAPI document, to read and to try. It is for programmers, and no part of the page's first view. */
import 'swagger-ui-dist/swagger-ui.css';
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';

SwaggerUI({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  persistAuthorization: false,
  // The default is a host on the internet.
  validatorUrl: 'none',
});
