/** The error code of each error status. */
export const errorCodeByStatus: Readonly<Record<number, string>> = {
  400: "BadRequestException",
  401: "UnauthorizedException",
  403: "ForbiddenException",
  404: "NotFoundException",
  405: "MethodNotAllowedException",
  409: "ConflictException",
  410: "GoneException",
  412: "PreconditionFailedException",
  413: "PayloadTooLargeException",
  415: "UnsupportedMediaTypeException",
  422: "UnprocessableEntityException",
  429: "TooManyRequestsException",
  500: "InternalServerErrorException",
  503: "ServiceUnavailableException",
};
