# Books in Django REST framework, on SQLite, with the generic view set. drf-spectacular makes its document: /schema.
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DIR + "/books.db",
                           "OPTIONS": {"timeout": 10, "transaction_mode": "IMMEDIATE"}}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "drf_spectacular"],
    REST_FRAMEWORK={
        "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema", "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    },
    SPECTACULAR_SETTINGS={"TITLE": "Books in Django REST framework", "VERSION": "1"},
)
django.setup()

from cheroot.wsgi import Server
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.urls import path
from drf_spectacular.views import SpectacularAPIView
from rest_framework import routers, serializers, viewsets


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.CharField(max_length=100, blank=True)
    pages = models.PositiveIntegerField(default=0)
    read = models.BooleanField(default=False)
    added = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "books"


with connection.schema_editor() as editor:
    editor.create_model(Book)


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = "__all__"


class BookViewSet(viewsets.ModelViewSet):
    queryset = Book.objects.order_by("id")
    serializer_class = BookSerializer


router = routers.DefaultRouter()
router.register("books", BookViewSet)
urlpatterns = [*router.urls, path("schema", SpectacularAPIView.as_view())]
server = Server(("127.0.0.1", PORT), get_wsgi_application(), numthreads=16)
try:
    server.start()
except KeyboardInterrupt:
    server.stop()
